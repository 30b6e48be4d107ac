"""What the script of the report does with tables, in a browser."""

import json
import re
import shutil
import subprocess

import pytest

from support import SCRIPTS

pytestmark = pytest.mark.slow

ROWS = [
    ("b", "0.5", "2 min"),
    ("a10", "< 0.0001", "90 s"),
    ("a9", "–", "1.5 h"),
    ("a8", "−1,000.5", "0.5 s"),
]
FILLERS = [(f"z{i:02}", str(i + 2), "1 s") for i in range(12)]
CLICKS = """
const rows = () => [...document.querySelectorAll("tbody tr:not([hidden])")];
const names = () => rows().slice(0, 5).map((row) => row.cells[0].textContent);
const buttons = document.querySelectorAll("th button");
const found = [];
for (const place of [0, 1, 1, 2]) {
  buttons[place].click();
  const sorted = [...document.querySelectorAll("th")].map((th) => th.getAttribute("aria-sort"));
  found.push([names(), rows().at(-1).cells[0].textContent, sorted]);
}
const box = document.querySelector("input");
box.value = "A9 h";
box.dispatchEvent(new Event("input"));
found.push([names(), document.querySelector("output").value]);
document.title = JSON.stringify(found);
"""


def test_tables_are_sorted_and_filtered(tmp_path):
    """Numbers as numbers, durations by seconds, names with numbers in order; – comes last."""
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("chromium is not installed")
    script = (SCRIPTS / "ensemble_search/report/script.js").read_text(encoding="utf-8")
    body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in ROWS + FILLERS)
    heads = "<th>name</th><th>p</th><th>time</th>"
    table = (
        f"<table><caption>t</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
    page = tmp_path / "page.html"
    page.write_text(
        f"<meta charset=utf-8><main><div>{table}</div></main>"
        f"<script>{script}</script><script>{{{CLICKS}}}</script>",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command = [browser, *options, f"--user-data-dir={tmp_path}/browser", "--dump-dom", page]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    by_name, by_p, by_p_down, by_time, filtered = json.loads(
        re.search("<title>(.*)</title>", shown)[1]
    )
    assert by_name == [["a8", "a9", "a10", "b", "z00"], "z11", ["ascending", None, None]]
    assert by_p == [["a8", "a10", "b", "z00", "z01"], "a9", [None, "ascending", None]]
    assert by_p_down == [["z11", "z10", "z09", "z08", "z07"], "a9", [None, "descending", None]]
    assert by_time == [["a8", "z11", "z10", "z09", "z08"], "a9", [None, None, "ascending"]]
    assert filtered == [["a9"], "1 of 16 rows"]
