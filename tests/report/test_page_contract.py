"""What every page promises (docs/report.md); a new file is tested without being named."""

import pytest

from ensemble_search.analysis.load import load
from ensemble_search.report import build, pages
from support import made_results as made

pytestmark = pytest.mark.slow

MODULES = {m.rsplit(".", 1)[1].replace("_", "-"): m for m in pages.modules()}


@pytest.fixture(scope="module", params=["nothing has finished", "finished"])
def results(request, tmp_path_factory):
    """Results of a study, at its beginning and at its end."""
    folder = tmp_path_factory.mktemp("results")
    study = made.study()
    if request.param == "finished":
        made.write(folder, study, lambda *_: ([0.3] * 8, [0.2] * 8))
    return load(study, folder)


@pytest.mark.parametrize("name", MODULES)
def test_a_page_has_sections_or_says_why_not(name, results, tmp_path):
    page = build.make(MODULES[name], results, tmp_path)
    assert page.error == ""
    assert page.title
    assert page.sections or page.reason
