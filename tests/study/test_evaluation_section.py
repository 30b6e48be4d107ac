"""`evaluation`: how the folder of tables is spelled."""

import pytest

from ensemble_search.study.sections.evaluation import Evaluation


@pytest.mark.parametrize(
    "path",
    ["results/s/tables", "results/s/tables/", "./results/x/../s/tables", "{here}/results/s/tables",
     "link"],
)  # fmt: skip
def test_a_folder_below_this_one_has_one_spelling(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("results/s/tables")
    found = Evaluation(replay=path.replace("{here}", str(tmp_path)))
    assert found.replay == "results/s/tables"
    assert Evaluation(share=True, tables=found.replay + "/").tables == "results/s/tables"
    assert found.table("wine", "fixed") == "results/s/tables/wine/fixed"


def test_folders_elsewhere_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Evaluation(replay="../other/tables/").replay == "../other/tables"
    assert Evaluation(replay="/far/away").replay == "/far/away"
    assert Evaluation().table("wine", "fixed") is None
