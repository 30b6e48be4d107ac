"""The tutorials do what they say.

That of a table is run by test_automl.py, and that of an optimizer by test_parts_from_outside.py.
"""

import shlex

import pandas as pd
import pytest
import yaml

from ensemble_search.study.model import check
from support import ROOT, markdown
from support.checkout import Checkout


@pytest.mark.slow
def test_a_study_on_a_cluster(tmp_path, monkeypatch, capsys):
    """The trial on the login node, on one of its data sets and two of its searches."""
    text = (ROOT / "docs/tutorials/cluster.md").read_text(encoding="utf-8")
    (study,), (show,) = markdown.blocks(text, "yaml"), markdown.blocks(text, "python")
    study = yaml.safe_load(study)
    check(study)
    assert len(study["datasets"]) * len(study["searches"]) * study["repeats"] == 30
    assert "Each of the 30 searches" in text
    del study["datasets"]["cancer"], study["searches"]["random"], study["methods"]["RS-ES"]
    checkout = Checkout(tmp_path)
    checkout.write(study, "mine.yaml")
    _, trial = markdown.blocks(text, "sh")[0].splitlines()
    checkout.command = lambda *more: [*shlex.split(trial), *more]
    checkout.snakemake("--quiet", "rules")
    monkeypatch.chdir(tmp_path)
    exec(show.replace("results/mine", "results/trial"), {})
    assert {"BO-ES", "DivBO", "wine"} <= set(capsys.readouterr().out.split())
    assert len(pd.read_parquet("results/trial/searches/wine/divbo/0/observations.parquet")) == 6
