"""Paths below ``results/``, and the study that a search belongs to.

The patterns are relative to the folder of a study, ``results/<study>``. Their fields are the
wildcards of the rules.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ensemble_search.study.sections import split
from ensemble_search.study.sections.split import Split

SPLIT = "splits/{dataset}/{split}"
SEARCH = "searches/{dataset}/{search}/{repeat}"
ENSEMBLE = "ensembles/{dataset}/{search}/{ensemble}/{repeat}"
DIVISIONS = "divisions/{dataset}/{search}/{repeat}"
# For the first of the ten repeats that are one job; see :func:`tens`.
REPLAY = "searches/{dataset}/{search}/{tens}0"
REPLAYED_ENSEMBLE = "ensembles/{dataset}/{search}/{ensemble}/{tens}0"
CONFIGURATIONS = "configurations/{dataset}"
SHARD = "shards/{dataset}/{split}/{shard}"
TABLE = "tables/{dataset}/{split}"
#: Folder of the evaluations that searches share.
EVALUATIONS = "evaluations"
SURROGATE = "surrogates/{dataset}/{surrogate}/{repeat}"
SPREAD = "spread/{sampler}"
AUTOGLUON = "autogluon/{dataset}"
DELIVERED = "delivered/{dataset}/{method}"

#: Journals of searches, of refits for ensembles, and of the configurations for surrogates ("all" is
#: not a repeat, so a search may be named "configurations").
CHECKPOINTS = "checkpoints/{dataset}/{search}/{repeat}"
FITS = CHECKPOINTS + "/{ensemble}"
CONFIGURATIONS_CHECKPOINTS = "checkpoints/{dataset}/configurations/all"
SHARD_CHECKPOINTS = "checkpoints/{dataset}/shards-{split}/{shard}"


def log(rule: str, pattern: str) -> str:
    """Pattern of a rule's log, from the pattern of its results."""
    return f"logs/{rule}/{pattern.partition('/')[2]}.log"


def benchmark(rule: str, pattern: str) -> str:
    """Pattern of the file with a job's measured time and memory."""
    return f"benchmarks/{rule}/{pattern.partition('/')[2]}.tsv"


def tens(repeat: int | str) -> str:
    """Return a repeat's number without its last digit: ten repeats of a replay are one job."""
    return str(repeat)[:-1]


def path(results: Path, pattern: str, **fields: str | int) -> Path:
    """Fill in a pattern below the folder of a study."""
    return results / pattern.format(**fields)


def splits(study: Mapping[str, Any]) -> list[str]:
    """Return the folder of every repeat's split, for a study as JSON."""
    return [split_name(study, repeat) for repeat in range(study["repeats"])]


def split_name(study: Mapping[str, Any], repeat: int) -> str:
    """Return the folder of a repeat's split, for a study as JSON."""
    return split.split_name((study.get("split") or {}).get("resample", "never"), repeat)


def drawn(study: Mapping[str, Any], dataset: str, name: str) -> dict[str, Any]:
    """Describe how the rows of a split are drawn, for a study as ``Jobs.report`` describes it."""
    return split.drawn(Split(**study["split"]), name, study.get("train_rows", {}).get(dataset))


def configurations(results: Path, study: Mapping[str, Any], dataset: str) -> Path:
    """Return the folder of the configurations that a study (as JSON) evaluates surrogates on.

    They are in the table of the data set's first split, if the study makes tables or is replayed.
    """
    split = split_name(study, 0)
    if replay := (study.get("evaluation") or {}).get("replay"):
        return Path(replay) / dataset / split
    pattern = TABLE if study.get("tables") else CONFIGURATIONS
    return path(results, pattern, dataset=dataset, split=split)


def home(results: Path, study: Mapping[str, Any], dataset: str, search: str, repeat: int) -> Path:
    """Return the results folder of the study that a search and its split belong to.

    ``results`` is the folder of ``study`` (as JSON), whose ``homes`` are the searches that it
    shares with the extended study, and the number of repeats there: ``{search: {dataset: {"study":
    name, "repeats": n}}}``.
    """
    shared = study.get("homes", {}).get(search, {}).get(dataset)
    if shared and repeat < shared["repeats"]:
        return results.parent / shared["study"]
    return results


def search_folder(
    results: Path, study: Mapping[str, Any], dataset: str, search: str, repeat: int
) -> Path:
    """Return the folder of a search, in the study that owns it; see :func:`home`."""
    own = home(results, study, dataset, search, repeat)
    return path(own, SEARCH, dataset=dataset, search=search, repeat=repeat)


def split_folder(
    results: Path, study: Mapping[str, Any], dataset: str, search: str, repeat: int
) -> Path:
    """Return the folder of the split that a search uses; see :func:`home`."""
    own = home(results, study, dataset, search, repeat)
    return path(own, SPLIT, dataset=dataset, split=split_name(study, repeat))
