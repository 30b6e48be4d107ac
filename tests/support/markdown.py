"""Blocks of code in pages of the documentation."""

import re


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks in a language, as they are written."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
