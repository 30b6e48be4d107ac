"""`make ensemble` beside AutoGluon and FLAML, in the same time, on rows that none of them has seen.

    make autogluon    # environments of their own
    make peers
    python benchmarks/automl_peers.py --minutes 2

A fifth of the rows of every OpenML data set is set aside. `make ensemble` gets the rest as a CSV
file; the others then get the same file and the wall time that it took from the file to the
delivered ensemble. AutoGluon runs with its preset best_quality, FLAML with its defaults. Errors are
shares of wrong rows, in percent, with Wilson's 95 % interval. What is finished is not run again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.runtime import errors

ROOT = Path(__file__).resolve().parents[1]
#: OpenML ids by name.
SETS = {"diabetes": 37, "cpu_small": 735, "adult": 1590}
OTHERS = {"autogluon": "AutoGluon", "flaml": "FLAML"}
SHARE, SEED = 0.2, 0


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=2, help="of the search of make ensemble")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="to use (all)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets")
    parser.add_argument("--folder", type=Path, default=Path("results/automl-peers"))
    parser.add_argument("--fit", choices=OTHERS, help="be the process of a peer, for one data set")
    options = parser.parse_args()
    if options.fit:
        fit(options.fit, options.folder, 60 * options.minutes, options.cores)
        return
    print("| data set | rows | system | seconds | error | from | to |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets:
        folder = options.folder / name
        target, rows = prepare(name, folder)
        seconds = own(folder, target, options.minutes, options.cores)
        print(row(name, rows, "make ensemble", folder / "own.csv", seconds), flush=True)
        for other, title in OTHERS.items():
            took = peer(other, folder, seconds, options.cores)
            print(row(name, rows, title, folder / f"{other}.csv", took), flush=True)


def prepare(name: str, folder: Path) -> tuple[str, int]:
    """Write train.csv and test.csv; return the target and the number of training rows."""
    from sklearn.model_selection import train_test_split

    from ensemble_search.data import sources

    raw = sources.read({"openml": SETS[name]})
    labels = raw.frame[raw.target]
    train, test = train_test_split(
        raw.frame, test_size=SHARE, random_state=SEED, stratify=labels.astype(str)
    )
    folder.mkdir(parents=True, exist_ok=True)
    for part, frame in (("train", train), ("test", test)):
        if not (folder / f"{part}.csv").exists():
            frame.to_csv(folder / f"{part}.csv", index=False)
    (folder / "target.json").write_text(json.dumps(raw.target), encoding="utf-8")
    return raw.target, len(train)


def own(folder: Path, target: str, minutes: float, cores: int) -> float:
    """Run `make ensemble`, predict the test rows, and return the seconds of the former."""
    done = folder / "own.json"
    if not done.exists():
        scripts = ROOT / "workflow_scripts"
        name = f"automl-peers-{folder.name}"
        start = time.perf_counter()
        call(
            sys.executable, scripts / "automl.py", "--data", folder / "train.csv",
            "--target", target, "--minutes", minutes, "--cores", cores, "--name", name,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        model = Path("results", name, "delivered", name, "DivBO")
        call(
            sys.executable, scripts / "predict.py", "--model", model,
            "--input", folder / "test.csv", "--output", folder / "own.csv",
        )  # fmt: skip
        done.write_text(json.dumps(seconds), encoding="utf-8")
    return json.loads(done.read_text(encoding="utf-8"))


def peer(name: str, folder: Path, seconds: float, cores: int) -> float:
    """Run a peer in its environment, and return the seconds that it took."""
    done = folder / f"{name}.json"
    if not done.exists():
        python = ROOT / f".venv-{name}" / "bin" / "python"
        start = time.perf_counter()
        call(
            python, Path(__file__), "--fit", name, "--folder", folder,
            "--minutes", seconds / 60, "--cores", cores,
        )  # fmt: skip
        done.write_text(json.dumps(time.perf_counter() - start), encoding="utf-8")
    return json.loads(done.read_text(encoding="utf-8"))


def fit(name: str, folder: Path, seconds: float, cores: int) -> None:
    """Fit a peer on train.csv, and write its predictions of test.csv."""
    import pandas as pd

    target = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
    X = test.drop(columns=target)
    if name == "autogluon":
        from autogluon.tabular import TabularPredictor

        predictor = TabularPredictor(target, eval_metric="accuracy", path=folder / "models")
        predictor.fit(train, time_limit=seconds, presets="best_quality", num_cpus=cores)
        found = predictor.predict(X)
    else:
        from flaml import AutoML

        automl = AutoML()
        automl.fit(
            train.drop(columns=target), train[target], task="classification", metric="accuracy",
            time_budget=seconds, n_jobs=cores, verbose=1,
        )  # fmt: skip
        found = automl.predict(X)
    pd.DataFrame({target: found}).to_csv(folder / f"{name}.csv", index=False)


def call(*command) -> None:
    """Run a command with its output on standard error."""
    subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr)


def row(name: str, rows: int, system: str, predicted: Path, seconds: float) -> str:
    """Write a row of the table."""
    from scipy.stats import binomtest

    target = json.loads((predicted.parent / "target.json").read_text(encoding="utf-8"))
    true, found = (labels(f, target) for f in (predicted.parent / "test.csv", predicted))
    wrong = sum(a != b for a, b in zip(true, found, strict=True))
    limits = binomtest(wrong, len(true)).proportion_ci(method="wilson")
    numbers = " | ".join(f"{100 * share:.2f}" for share in (wrong / len(true), *limits))
    return f"| {name} | {rows} | {system} | {seconds:.0f} | {numbers} |"


def labels(file: Path, target: str) -> list[str]:
    """Read the column of the target as text."""
    with file.open(encoding="utf-8", newline="") as stream:
        return [line[target].strip() for line in csv.DictReader(stream)]


if __name__ == "__main__":
    errors.run(main)
