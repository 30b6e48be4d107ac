"""A page of the report as a reader or a browser sees it."""

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "hr", "input", "path"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects what a reader or a browser would see."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text += data

    def all(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.tags if name == tag]


def squeezed(html: Page) -> str:
    return " ".join(html.text.split())


def text_of(file: Path) -> str:
    """Return what a reader sees of a page."""
    return squeezed(Page(file.read_text(encoding="utf-8")))
