"""A study's measurements other than searches, ``evidence/<study>/measured.csv``.

There is one row per data set, repeat and surrogate with a number of observations (``lightgbm-pairs,
250``), or one per repeat and sampler of designs. As in ``rows``, a row is stale once the recorded
numbers or the settings of the measured part have changed.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ensemble_search.dpp import coverage
from ensemble_search.evidence import rows as evidence
from ensemble_search.papers.divbo import surrogates
from ensemble_search.papers.dodge import even_coverage
from ensemble_search.runtime import files

FILE = "measured.csv"
#: Measures: for surrogates, Kendall's tau on unseen configurations, for pairs of an observed and a
#: new one or for errors; for designs, log10 of ``coverage.measure``, averaged over their sizes.
DESIGNS = even_coverage.MEASURES
MEASURES = ("tau", *DESIGNS)
COLUMNS = (*evidence.KEY, *MEASURES, "numbers", "stale")
#: Smaller measures are raised to this, the squared step of the grid of seq-pv, which contains 0.
SMALLEST = 1e-8
#: The protocol for pairs in DivBO, and the one for errors.
PROTOCOLS = ("observed", "error")
#: Stands for the data set of designs, which have none.
RANGE = "0 to 1"


def numbers(study: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, str]:
    """Return, by method, a digest of what its rows depend on; see ``rows.numbers``."""
    found: dict[str, str] = {}
    if section := study.get("surrogates"):
        pipelines = evidence.pipelines(study, recorded)
        settings = [study[key] for key in ("space", "metric", "limits", "split", "seed")]
        for name in section["names"]:
            own = recorded["surrogate"].get(name, recorded["search"]["bo"])
            content = [own, pipelines, settings, {**section, "names": name}]
            found |= {f"{name}, {n}": files.digest(content)[:8] for n in section["sizes"]}
    if section := study.get("spread"):
        digest = files.digest([evidence.code(coverage), section, study["seed"]])[:8]
        found |= dict.fromkeys(coverage.SAMPLERS, digest)
    return found


def rows(
    study: Mapping[str, Any], results: Path, recorded: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Return one row, as text, per measurement in a study's results folder."""
    made: list[dict[str, Any]] = []
    quality, _ = surrogates.load(study, results)
    for line in quality[quality["protocol"].isin(PROTOCOLS)].to_dict("records"):
        method = f"{line['surrogate']}, {line['observations']}"
        made.append({"dataset": line["dataset"], "repeat": line["repeat"], "method": method,
                     "tau": line["tau"]})  # fmt: skip
    designs, _ = even_coverage.load(study, results)
    measures = list(DESIGNS)
    designs[measures] = np.log10(np.maximum(designs[measures].astype(float), SMALLEST))
    means = designs.groupby(["sampler", "sample"], sort=False)[measures].mean()
    for (sampler, sample), line in means.iterrows():
        made.append({"dataset": RANGE, "repeat": sample, "method": sampler, **line})
    current = numbers(study, recorded)
    blank = dict.fromkeys(COLUMNS, "")
    return [
        blank
        | {name: evidence.text(value) for name, value in row.items()}
        | {"numbers": current[row["method"]]}
        for row in made
    ]


def read(folder: Path) -> list[dict[str, str]]:
    """Read the rows of ``evidence/<study>``, as ``rows.read``."""
    return evidence.read(folder, FILE, COLUMNS)


def write(folder: Path, content: Iterable[Mapping[str, str]]) -> None:
    """Write the rows of ``evidence/<study>``, if there are any."""
    if content := list(content):
        evidence.write(folder, content, FILE, COLUMNS)
