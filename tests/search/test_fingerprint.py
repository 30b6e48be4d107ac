"""Fingerprints: what makes two searches the same."""

from importlib.metadata import version

from ensemble_search.search import fingerprint

LIMITS = {"seconds": 60.0, "memory_mb": 4096}


def of(optimizer: dict) -> dict:
    job = {"space": "divbo", "metric": "error", "limits": LIMITS, "seed": 0, "repeat": 0}
    return fingerprint.fingerprint({**job, "optimizer": optimizer}, "sum", 1, ())


def test_libraries_behind_an_optimizer_belong_to_it_and_to_no_evaluation():
    """Also those behind its surrogate; a journal from before an upgrade is not continued."""
    ordinary = of({"optimizer": "divbo"})
    assert "libraries" not in ordinary
    other = of({"optimizer": "divbo", "diversity_surrogate": "xgboost-pairs"})
    assert other["libraries"] == {"xgboost": version("xgboost-cpu")}
    assert fingerprint.shared(other) == fingerprint.shared(ordinary)
