"""docs/reference.md is what `make reference` writes."""

import re

from ensemble_search.study import reference
from support import ROOT


def test_the_page_is_current():
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert written == reference.page(), "run `make reference`"


def test_no_name_in_angle_brackets_is_lost_as_html():
    page = re.sub(r"```.*?```|`[^`]*`", "", reference.page(), flags=re.S)
    assert re.findall(r"<\w[^>]*>", page) == []


def test_settings_of_another_plugin_are_named_not_repeated():
    page = reference.page()
    assert "All settings of [`bo`](#bo), and:\n\n| setting" in page
    assert (
        page.count("Maximum number of hill climbs, which start from evaluated configurations.") == 2
    )  # bo, and smbo's default
    assert "| `smallest` | `1/27` |" in page
    assert "| `ties` | `random` |" in page


def test_keys_of_a_study_are_listed_below_those_that_hold_them():
    page = reference.page().partition("## Optimizers")[0]
    for key in ("study", "budget.fits", "datasets.<name>.columns.group", "split.train_rows.share"):
        assert page.count(f"\n| `{key}` |") == 1
    assert "searches.<name>" not in page, "the settings of optimizers have tables of their own"
