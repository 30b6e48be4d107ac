"""Writers of files, and something that each can write."""

import numpy as np

from ensemble_search.runtime.files import write_json, write_npy, write_parquet

WRITERS = {
    "a.json": (write_json, {"numbers": list(range(2000)), "name": "Müller"}),
    "a.npy": (write_npy, np.arange(6000.0).reshape(20, 300)),
    "a.parquet": (write_parquet, {"x": np.random.default_rng(0).random(2000)}),
}
