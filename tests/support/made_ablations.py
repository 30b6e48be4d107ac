"""A study that has every ablation of the paper, for results that are made up."""

from support import made_results as made

DIVBO = {"optimizer": "divbo", "beta": 0.05, "tau": 0.2, "weight": None}
SEARCHES = {
    "random": {"optimizer": "random"},
    "bo": {"optimizer": "bo"},
    "k-bo": {"optimizer": "k-bo"},
    "divbo": DIVBO,
    "fixed": {**DIVBO, "weight": 0.1},
    "bold": {**DIVBO, "beta": 0.1},
    "late": {**DIVBO, "tau": 0.05},
}
ENSEMBLES = {
    "best": {"type": "best"},
    "es25": {"type": "selection", "size": 25},
    "es100": {"type": "selection", "size": 100},
    "bagged": {"type": "bagging", "size": 5},
}
METHODS = {
    "RS-ES": ("random", "es25"),
    "BO-ES": ("bo", "es25"),
    "BO-ES-100": ("bo", "es100"),
    "kBO-ES": ("k-bo", "es25"),
    "DivBO": ("divbo", "es25"),
    "DivBO-bagged": ("divbo", "bagged"),
    "DivBO-fixed": ("fixed", "es25"),
    "DivBO-bold": ("bold", "es25"),
    "DivBO-late": ("late", "es25"),
}


def study(methods=tuple(METHODS), datasets=("quake", "wind"), repeats=2, **more) -> dict:
    return {
        **made.study(methods, datasets, repeats),
        "searches": SEARCHES,
        "ensembles": ENSEMBLES,
        "methods": {m: dict(zip(("search", "ensemble"), METHODS[m], strict=True)) for m in methods},
        "sources": {"quake": {"openml": 772}, "wind": {"openml": 847}},
        **more,
    }
