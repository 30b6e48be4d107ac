"""The tutorials do what they say.

That of a table is run by test_automl.py, and that of an optimizer by test_parts_from_outside.py.
"""

import shlex

import pandas as pd
import pytest

from support import ROOT, markdown
from support.checkout import Checkout


@pytest.mark.slow
def test_a_study_on_a_cluster(tmp_path, monkeypatch, capsys):
    """Its commands that need no cluster, on the budget of its trial."""
    text = (ROOT / "docs/tutorials/cluster.md").read_text(encoding="utf-8")
    (study,), (show,) = markdown.blocks(text, "yaml"), markdown.blocks(text, "python")
    (dry, trial), *_ = [block.splitlines() for block in markdown.blocks(text, "sh")]
    checkout = Checkout(tmp_path)
    (tmp_path / "mine.yaml").write_text(study, encoding="utf-8")
    checkout.command = lambda *more: [*shlex.split(dry), *more]
    assert checkout.planned()["search"] == 30
    checkout.command = lambda *more: [*shlex.split(trial), *more]
    checkout.snakemake("--quiet", "rules")
    monkeypatch.chdir(tmp_path)
    exec(show.replace("results/mine", "results/trial"), {})
    assert {"BO-ES", "DivBO", "RS-ES", "cancer", "wine"} <= set(capsys.readouterr().out.split())
    assert len(pd.read_parquet("results/trial/searches/wine/divbo/0/observations.parquet")) == 6
