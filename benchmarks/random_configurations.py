"""Evaluate random configurations of a space under limits: what fails, why, and what is slow.

    python benchmarks/random_configurations.py --dataset sklearn=digits sklearn=wine --count 500
    python benchmarks/random_configurations.py --inputs results/*/splits/*/fixed/inputs.npz

Prints, per data set, the shares by status and by cause, quantiles of the CPU time, and the slowest
operators. ``--output`` receives one CSV row per evaluation.
"""

import argparse
import csv
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from ensemble_search.evaluation.live import LiveEvaluator  # noqa: E402
from ensemble_search.runtime import plugins  # noqa: E402
from ensemble_search.runtime.errors import UserError, run  # noqa: E402

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
COLUMNS = "dataset", "status", "fit_seconds", "cpu_seconds", "error_type", "message"
SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--inputs", nargs="*", type=Path, default=[], help="inputs.npz of splits")
    parser.add_argument(
        "--dataset", nargs="*", default=[], help="sklearn=NAME, openml=ID or file=PATH,target=NAME"
    )
    parser.add_argument("--count", type=int, default=500, help="configurations per data set")
    parser.add_argument("--seconds", type=float, default=30, help="time limit of an evaluation")
    parser.add_argument("--memory-mb", type=int, default=4096)
    parser.add_argument("--space", default="divbo")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="evaluations at a time")
    parser.add_argument("--output", type=Path, help="CSV, one row per evaluation")
    arguments = parser.parse_args()
    space = plugins.load("spaces", arguments.space)()
    configurations = space.sample(arguments.count, np.random.default_rng(arguments.seed))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        made = [make_inputs(text, Path(folder, str(i))) for i, text in enumerate(arguments.dataset)]
        for inputs, name in made + [(p, "/".join(p.parts[-4:-1])) for p in arguments.inputs]:
            start = time.time()
            results = evaluate_all(configurations, inputs, arguments)
            print(f"\n== {name}: {len(results)} in {time.time() - start:.0f} s ==")
            print_summary(configurations, results, list(getattr(space, "stages", ())))
            for c, r in zip(configurations, results, strict=True):
                times = round(r.fit_seconds, 3), round(r.cpu_seconds, 3)
                rows.append([name, r.status, *times, r.error_type, r.message, json.dumps(dict(c))])
    if arguments.output:
        with arguments.output.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([*COLUMNS, "configuration"])
            writer.writerows(rows)


def make_inputs(text: str, folder: Path) -> tuple[Path, str]:
    """Fetch and split a data set, such as ``sklearn=digits``; return its inputs and its name."""
    from ensemble_search.data import normalise, prepare, sources, split

    try:
        source = dict(part.split("=", 1) for part in text.split(","))
    except ValueError:
        raise UserError(f"--dataset: '{text}' must look like sklearn=digits") from None
    if "openml" in source:
        source["openml"] = int(source["openml"])
    frame, description = normalise.normalise(sources.read(source))
    split.write(*prepare.make_split(frame, description, SPLIT), folder)
    return folder / "inputs.npz", text


def evaluate_all(configurations, inputs: Path, arguments) -> list:
    """Evaluate the configurations, several at a time, each in a worker process under limits."""
    module = plugins.module_name("spaces", arguments.space)

    def some(part: int) -> list:
        with LiveEvaluator(module, inputs, arguments.seconds, arguments.memory_mb, 1) as evaluator:
            return [evaluator.evaluate(c) for c in configurations[part :: arguments.workers]]

    with ThreadPoolExecutor(arguments.workers) as executor:
        parts = list(executor.map(some, range(arguments.workers)))
    results = [None] * len(configurations)
    for i, part in enumerate(parts):
        results[i :: arguments.workers] = part
    return results


def print_summary(configurations, results, stages: list[str]) -> None:
    n = len(results)
    for status, count in Counter(r.status for r in results).most_common():
        print(f"{status:8} {count:5d} {100 * count / n:6.1f} %")
    causes = Counter()
    for c, r in zip(configurations, results, strict=True):
        if r.status not in ("ok", "timeout"):
            operators = "/".join(c[stage] for stage in stages)
            causes[f"{r.status} {r.error_type}: {(r.message or '')[:90]}"] += 1
            print(f"   {operators}: {r.status} {r.error_type}")
    for cause, count in causes.most_common():
        print(f"{count:5d} {100 * count / n:5.1f} %  {cause}")
    seconds = np.array([r.cpu_seconds for r in results])
    quantiles = zip(QUANTILES, np.quantile(seconds, QUANTILES), strict=True)
    print("CPU seconds  mean", f"{seconds.mean():.2f}", *(f"q{q:g} {s:.2f}" for q, s in quantiles))
    by_operator = defaultdict(list)
    for c, s in zip(configurations, seconds, strict=True):
        for stage in stages:
            by_operator[f"{stage}={c[stage]}"].append(s)
    slowest = sorted(by_operator.items(), key=lambda item: -np.mean(item[1]))
    for name, own in slowest[:12]:
        print(f"   {np.mean(own):7.2f} s mean {np.sum(own):8.1f} s in all  {name} ({len(own)})")
    sys.stdout.flush()


if __name__ == "__main__":
    run(main)
