"""A finished study of one search, and where its results lie."""

import json
import sys
from pathlib import Path

import pytest
import yaml

import search as search_script
from ensemble_search.data import normalise, prepare, sources, split
from ensemble_search.jobs import Jobs
from ensemble_search.scoring import ensemble_scores

STUDY = {
    "study": "tiny",
    "datasets": {"wine": {"sklearn": "wine"}},
    "repeats": 1,
    "budget": {"evaluations": 5},
    "limits": {"seconds": 60},
    "space": "divbo-small",
    "searches": {"random": {"optimizer": "random"}},
    "ensembles": {"best": {"type": "best"}},
    "methods": {"RS": {"search": "random", "ensemble": "best"}},
}
SEARCH = Path("results/tiny/searches/wine/random/0")
ENSEMBLE = Path("results/tiny/ensembles/wine/random/best/0")
SPLIT = Path("results/tiny/splits/wine/fixed")


def make(folder: Path, **changes) -> None:
    """Run the functions of its jobs; ``changes`` replace keys of the study."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("study.yaml").write_text(yaml.safe_dump({**STUDY, **changes}), encoding="utf-8")
        jobs = Jobs.load("study.yaml")
        columns = jobs.study.datasets["wine"].source.get("columns")
        frame, described = normalise.normalise(sources.read({"sklearn": "wine"}, {}), columns)
        normalise.write(frame, described, Path("results/data") / jobs.source_key("wine"))
        split.write(
            *prepare.make_split(frame, described, json.loads(jobs.split("wine", "fixed"))), SPLIT
        )
        arguments = ["--job", jobs.search("wine", "random", 0), "--split", str(SPLIT)]
        arguments += ["--checkpoints", "results/tiny/checkpoints/wine/random/0"]
        patch.setattr(sys, "argv", ["search.py", *arguments, "--output", str(SEARCH)])
        search_script.main()
        ensemble_scores.write(SEARCH, SPLIT, {"type": "best"}, 0, ENSEMBLE)
