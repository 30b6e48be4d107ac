"""A search whose pipelines are refitted, for the tests of ensembles that do so."""

import numpy as np
import pandas as pd

from ensemble_search.data.split import load_inputs
from ensemble_search.runtime.files import write_json, write_npy, write_parquet
from support import hostile_space, made_results

CONFIGURATIONS = [
    {"algorithm": "euclid", "sharpness": 0.5},
    {"algorithm": "power", "sharpness": 2.0, "power": 3},
    {"algorithm": "wave", "sharpness": 1.0, "frequency": 1.5},
    {"algorithm": "euclid", "sharpness": 0.5},  # the first one again
    {"algorithm": "power", "sharpness": 0.02, "power": 8},
]
ERRORS = [0.4, 0.3, 0.5, 0.2, 0.6]  # the two best: 0; 0 1; 0 1; 1 3; 1 3


def make(folder, n_classes=3, configurations=CONFIGURATIONS):
    """Write a search whose errors are ``ERRORS``, whatever it predicts, and its split."""
    split, search = folder / "split", folder / "search"
    split.mkdir()
    hostile_space.write_inputs(split, n_rows=96, n_features=3, n_classes=n_classes)
    inputs, n = load_inputs(split), len(configurations)
    columns = n_classes if n_classes > 2 else 1
    for part in ("validation", "test"):
        shape = (n, len(getattr(inputs, f"X_{part}")), columns)
        write_npy(search / f"predictions-{part}.npy", np.full(shape, 0.5, dtype=np.float32))
    frame = pd.DataFrame(configurations).add_prefix("config.")
    if "config.power" in frame:
        frame["config.power"] = frame["config.power"].astype("Int64")
    frame.insert(0, "iteration", range(1, n + 1))
    frame["error"], frame["predict_seconds"], frame["fidelity"] = ERRORS[:n], 0.25, 1.0
    write_parquet(search / "observations.parquet", frame)
    write_json(search / "search.json", made_results.search_manifest(evaluations=n))
    return search, split, inputs
