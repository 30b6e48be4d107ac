"""Write a made-up table with two classes, for `make ensemble`.

python benchmarks/large_table.py 100000 50 large.csv
make ensemble DATA=large.csv TARGET=y MINUTES=1
"""

import argparse

import numpy as np
import pandas as pd


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int, help="11 or more")
    parser.add_argument("output")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.columns)).astype(np.float32)
    signal = X[:, :8] @ rng.normal(size=8) + 2 * X[:, 8] * X[:, 9] + 2 * np.sin(3 * X[:, 10])
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(options.columns)])
    table["y"] = np.where(signal + rng.normal(size=options.rows) > 0, "yes", "no")
    table.round(4).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
