"""Studies whose searches share evaluations, or look them up in tables, as a user runs them."""

import json
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest

from support.checkout import STUDY, Checkout

pytestmark = pytest.mark.slow

ALONE = STUDY | {
    "tables": {"random": 10},
    "surrogates": {
        "names": ["forest-kernel"], "repeats": 1, "sizes": [4], "held_out": 3, "configurations": 7,
    },
}  # fmt: skip
SHARING = ALONE | {"evaluation": {"share": True}}
BESIDE = STUDY | {
    "study": "beside",
    "evaluation": {"share": True, "tables": "results/tiny/tables"},
    "surrogates": ALONE["surrogates"],
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Checkout:
    """A study whose searches do not share, and one that looks up in its tables."""
    result = Checkout(tmp_path_factory.mktemp("alone"))
    result.run(ALONE, "--until", "ensemble", "table")
    result.run(BESIDE, "--until", "ensemble", "configurations")
    return result


@pytest.fixture(scope="module")
def sharing(tmp_path_factory) -> Checkout:
    """The same study with sharing, killed after every few evaluations that it has stored."""
    result = Checkout(tmp_path_factory.mktemp("sharing"))
    result.write(SHARING)
    for evaluations in (1, 9):
        process = subprocess.Popen(
            result.command("--quiet", "rules"),
            cwd=result.folder,
            env=result.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 600
        while len(stored(result)) < evaluations and time.monotonic() < until:
            time.sleep(0.02)
        assert process.poll() is None, "it had ended before it could be killed"
        kill(result.folder)
        assert process.wait() == -signal.SIGKILL
    result.snakemake("--quiet", "rules")
    return result


def kill(folder: Path) -> None:
    """Kill the processes that work in a folder: of forks, not all are in one process group."""
    while found := [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(folder)]:
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(0.02)  # a zombie works nowhere


def stored(checkout: Checkout) -> list[Path]:
    return list((checkout.folder / "results/tiny/evaluations/wine/fixed").glob("*/*.npz"))


def observations(checkout: Checkout, study: str = "tiny", kinds="searches") -> pd.DataFrame:
    files = sorted((checkout.folder / "results" / study).glob(f"{kinds}/**/observations.parquet"))
    names = [str(file.parent.relative_to(checkout.folder / "results" / study)) for file in files]
    return pd.concat(map(pd.read_parquet, files), keys=names)


def configurations(table: pd.DataFrame) -> list[str]:
    return table.filter(like="config.").to_json(orient="records", lines=True).splitlines()


def found(checkout: Checkout, study: str = "tiny") -> dict[str, object]:
    """What searches and ensembles have found, without where it is from."""
    names = (f"{study}/searches/", f"{study}/ensembles/")
    results = checkout.results()
    kept = {n.removeprefix(study): r for n, r in results.items() if n.startswith(names)}
    assert len(kept) > 8
    for name in [n for n in kept if n.endswith("observations.parquet")]:
        kept[name] = json.loads(kept[name])
        del kept[name]["origin"]
    return kept


def test_sharing_and_kills_change_no_result(alone, sharing):
    assert found(sharing) == found(alone)
    assert set(observations(alone).origin) == {"fitted"}


def test_nothing_is_fitted_twice(sharing):
    """Neither by the two searches nor by the jobs of the table; but for what a kill cut off."""
    table = observations(sharing, kinds="s[eh]a*")
    assert {name.split("/")[0] for name, _ in table.index} == {"searches", "shards"}
    different = set(configurations(table))
    assert len(different) < len(table) - 8
    assert len(stored(sharing)) == len(different)
    assert set(table.origin) == {"fitted", "shared"}
    assert (table.origin == "fitted").sum() <= len(different)
    assert not list((sharing.folder / "results/tiny/evaluations").rglob("*.lock"))


def test_nothing_is_left_to_do_whether_searches_share_or_not(sharing):
    assert sharing.planned() == {}
    sharing.write(ALONE)
    planned = sharing.planned()
    sharing.write(SHARING)
    assert planned == {}


def test_a_finished_study_that_shares_is_whole(sharing):
    run = sharing.script("verify", "--study", "study.yaml", "--sample", "2")
    assert run.returncode == 0, run.stdout + run.stderr


def test_tables_of_another_study_are_looked_up_in(alone):
    assert found(alone, "beside") == found(alone)
    table = observations(alone, "beside", "s*")
    known = set(configurations(observations(alone, kinds="tables")))
    there = [values in known for values in configurations(table)]
    assert 8 + 5 <= sum(there) < len(there)
    assert (table.origin == "table").tolist() == there
    random = observations(alone, "beside", "configurations")
    assert set(random.origin) == {"table"}


def test_tables_that_are_not_there(alone):
    alone.write(BESIDE | {"evaluation": {**BESIDE["evaluation"], "tables": "results/none"}})
    text = alone.snakemake("--dry-run", fails=True)
    alone.write(BESIDE)
    assert "evaluation.tables: there is no 'results/none/wine/fixed/" in text
    assert "Traceback" not in text


def test_tables_under_other_limits_are_rejected_before_any_job_starts(alone):
    alone.write(BESIDE | {"limits": {"seconds": 9}})
    text = alone.snakemake("--dry-run", fails=True)
    alone.write(BESIDE)
    assert "'results/tiny/tables/wine/fixed' is not of this study: limits.seconds is 60.0" in text
