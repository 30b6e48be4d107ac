"""The search for an ensemble of one table, and its delivery: what `make ensemble` does."""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import yaml

from ensemble_search.data import checks, prepare, roles, sources
from ensemble_search.delivery import limits, own_rows
from ensemble_search.delivery.limits import NONE_WITHIN
from ensemble_search.delivery.page import SUMMARY
from ensemble_search.jobs import Jobs
from ensemble_search.results import layout, readers
from ensemble_search.runtime import plugins, signals
from ensemble_search.runtime.errors import UserError, number_of, printable
from ensemble_search.runtime.files import atomic, read_json, sha256, write_json
from ensemble_search.search.progress import duration
from ensemble_search.study import model, short
from ensemble_search.study.yaml_file import read_yaml

SNAKEFILE = Path(__file__).resolve().parents[2] / "Snakefile"
#: Minimum number of evaluations, however short the time is: the initial design and one more.
LEAST = 13
#: With fewer test rows, a fifth of all unless they have their own file, there is a caution.
FEW_TEST_ROWS = 50
#: Columns that divide or weight the rows; each is an option.
ROLES = {
    "group": "column, such as patient, whose rows with the same value stay together",
    "time": "column of dates or numbers: the latest rows are the test rows",
    "fold": "column of integers: the rows of the first fold are the test rows",
    "weight": "column of numbers above 0: how much each row counts",
}
#: Roles whose columns a file of test rows needs, too.
TESTED = ("group", "weight")
#: Seconds between two checks of the search, and between two lines if there is no terminal.
LOOK, LINE = 1, 30


#: What is wrong with a split by a column, in a message for a study.
BY_COLUMN = re.compile(
    r"split: by columns\.(\w+), (.*); (?:change the shares|raise split.train), or", re.DOTALL
)


def _of_option(problem: str) -> str:
    """Name the option in a message about the split, which is not the user's."""
    if found := BY_COLUMN.match(problem):
        return f"--{found[1]}: by this column, {found[2]}; name another column, or omit it"
    return problem


def _columns(text: str | None) -> dict[str, list[str]]:
    """Read names of columns by role, as YAML."""
    try:
        columns = yaml.safe_load(text or "{}")
    except yaml.YAMLError:
        columns = text
    roles.check(columns, "--columns")
    return {role: names for role, names in columns.items() if names}


def _python() -> str:
    """The Python that has the libraries, written for a shell in the working directory."""
    here = os.path.relpath(sys.executable)
    return shlex.quote(sys.executable if here.startswith(os.pardir) else here)


def _check_test(file: str, target: str, described: dict[str, Any]) -> None:
    """Check that a file of test rows has the columns of the table."""
    of_rows = described.get("of_rows", {})
    needed = [*described["columns"], *(of_rows[r]["column"] for r in TESTED if r in of_rows)]
    try:
        names = sources.check_file(file, target, sources.unneeded(file, [*needed, target]))
    except UserError as error:
        raise UserError(
            *(f"--test: {line.removeprefix('file: ')}" for line in error.problems)
        ) from None
    if missing := [name for name in needed if name not in names]:
        raise UserError(f"--test: '{file}' has no column '{missing[0]}', which the table has")


def _look_at_test(file: str, *about: Any) -> own_rows.OwnRows:
    """Read and check the test rows as the delivery will."""
    try:
        return own_rows.read(file, *about)
    except UserError as error:
        lines = (re.sub("^(deliver[.]test|file): ", "", line) for line in error.problems)
        raise UserError(*(f"--test: {line}" for line in lines)) from None


def _source(study: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the only data set of a study of this name; empty if that is something else."""
    datasets = study.get("datasets")
    source = datasets.get(name) if isinstance(datasets, dict) and len(datasets) == 1 else None
    return source if isinstance(source, dict) else {}


def _others(one: dict[str, Any], two: dict[str, Any]) -> str:
    """Name what makes two data sets belong to different searches; empty if nothing does."""
    what = {"file": "another table", "target": "another target"}
    found = [said for key, said in what.items() if one.get(key) != two.get(key)]
    return " and ".join(found) if one else "other data"


class Search:
    """The search for an ensemble of one table.

    Attributes
    ----------
    folder
        Folder of its results, with ``study.yaml``.
    study
        Content of that file.
    searched
        Seconds spent searching on these rows, over all calls.
    data
        SHA-256 of the table.
    summary
        A line on the table and what is made of it.
    columns
        How each column is read; see ``prepare.reading``.
    warnings
        Properties of the table that may make errors too low; see ``data.checks``.
    notes
        Values of the table that are dropped, converted or treated as missing, one line each.
    """

    #: The file of test rows.
    test: str | None = None
    #: Sections of ``study.yaml`` that somebody changed, if the search starts over.
    edited: Sequence[str] = ()

    def __init__(self, options: argparse.Namespace):
        self.minutes, self.cores = options.minutes, options.cores
        columns = _columns(options.columns)
        given = {role: [name] for role in ROLES if (name := getattr(options, role))}
        if twice := [role for role in given if columns.get(role, given[role]) != given[role]]:
            raise UserError(f"--{twice[0]}: --columns has another '{twice[0]}'; keep one")
        columns |= given
        roles.check(columns, "--columns")
        name = short.name_of(options.data, options.name)
        self.folder = Path("results", name)
        positive = options.positive or None
        looked = options.data, options.target, options.metric or None, columns, positive
        table = short.look_at(*looked)
        rows, metric, described = table.rows, table.metric, table.described
        self.test = options.test or None
        if self.test:
            _check_test(self.test, options.target, described)
        self.study = short.content(
            name, options.data, options.target, rows=rows, columns=len(described["columns"]),
            metric=metric, minutes=options.minutes, cores=options.cores, classes=table.classes,
            positive=positive, roles_of=columns, groups=table.groups, rarest=table.rarest,
        )  # fmt: skip
        self._set_test(self.study)
        model.check(self.study)
        search: dict[str, str | int] = {"dataset": name, "search": "divbo", "repeat": 0}
        self.checkpoints = layout.path(self.folder, layout.CHECKPOINTS, **search)
        self.searched, self.again, self.data = 0.0, False, sha256(Path(options.data))
        changed = self._continue()
        jobs = Jobs(model.check(self.study), str(self.folder / "study.yaml"))
        split = json.loads(jobs.split(name, jobs.study.split_name(0)))
        try:
            drawn, _, labels, _, scale = prepare.divide(table.frame, described, split)
        except UserError as error:
            raise UserError(*map(_of_option, error.problems)) from None
        self.warnings = checks.notes(table.frame, described, drawn, metric)
        own = (described[key] for key in ("columns", "asked", "read"))
        fitted = prepare.fit(table.frame.iloc[drawn["train"]], *own)
        self.columns = prepare.reading(described, *fitted)
        self.notes, test = [*described["notes"]], len(drawn["test"])
        if self.test:
            by = {role: column["column"] for role, column in described["of_rows"].items()}
            about = {"by": by, "target": scale}
            prepared = {"target": options.target, **fitted[0].to_json()}
            own_test = _look_at_test(self.test, prepared, about, labels.tolist())
            self.notes += own_test.notes
            test = len(own_test.labels)
        self.summary = f"{number_of(rows, 'row')}, {table.summary}, {self._parts(rows)}"
        self.summary += f"; {prepare.divided({role: columns[role][0] for role in columns})}"
        if test < FEW_TEST_ROWS:
            self.summary += (
                f"; with {number_of(test, 'test row')}, the reported errors are uncertain"
            )
        if changed:
            self.summary += (
                f"; changed since the last call: {', '.join(changed)}: the search starts over, and "
                "its ensemble will replace the earlier one (another --name keeps both)"
            )
        if self.edited:
            self.summary += f"; what study.yaml had for {', '.join(self.edited)} is replaced, too"
        self.metric = plugins.load("metrics", metric)

    def _parts(self, rows: int) -> str:
        """Describe how the rows are divided."""
        split = self.study["split"]
        if "folds" in split:
            return "cross-validation"
        if "train_rows" not in split:
            by_fold = "fold" in self.study["datasets"][self.study["study"]].get("columns", {})
            return "a quarter of the others for validation" if by_fold else "60/20/20 % split"
        share = split["train_rows"]["share"]
        return (
            f"large: pipelines are fitted on {100 * share:g} % of the training rows (about "
            f"{share * split['train'] * rows:.0f}), so that most take less than "
            f"{self.study['limits']['seconds']} s (split in study.yaml), and tested on "
            f"{split['test'] * rows:.0f} rows"
        )

    def _continue(self) -> list[str]:
        """Resume an earlier call's search of this table; return what has changed and voids it."""
        if not self.folder.exists():
            return []
        study = self.folder / "study.yaml"
        if (self.folder / "automl.json").is_file():
            earlier = readers.automl(self.folder)
        elif study.is_file():
            kept = {key: read_yaml(study).get(key) for key in ("study", "datasets", "limits")}
            earlier = {"study": {**self.study, **kept}, "searched": 0.0, "data": self.data}
        else:
            earlier = {"study": {}}
        name = self.study["study"]
        before, now = _source(earlier["study"], name), self.study["datasets"][name]
        if others := _others(before, now):
            if earlier.get("searched") == 0 and not self.checkpoints.exists():
                return []  # an earlier mistake in table or target: nothing was evaluated
            has = f"has a search with {others}" if earlier["study"] else "is of another study"
            raise UserError(f"'{self.folder}' {has}; choose another --name, or move that folder")
        # Keep the earlier limit of an evaluation and, if the table is the same, the rows, which
        # depend on it: otherwise the search would start again.
        again = {**self.study, "limits": earlier["study"].get("limits")}
        if "deliver" in earlier["study"]:  # no search depends on it
            again["deliver"] = dict(earlier["study"]["deliver"])
            self._set_test(again)
            self._set_test(earlier["study"])
        if self.data == earlier["data"]:
            again["split"] = earlier["study"].get("split")
        self.again = again == earlier["study"]
        if self.again:
            self.study = again
        other_rows = self.data != (earlier["data"] or self.data)
        if self.again and study.is_file():
            self._check_edited(study)
        if self.again and not other_rows:
            self.searched = earlier["searched"]
            return []
        if not self.again and study.is_file():
            self.edited = self._edited(read_yaml(study), earlier["study"])
        (self.checkpoints / "progress.json").unlink(missing_ok=True)
        found = {
            "table": other_rows,
            "roles of columns": before.get("columns") != now.get("columns"),
            "metric": earlier["study"].get("metric") != self.study["metric"],
            "positive class": before.get("positive") != now.get("positive"),
            # As many pipelines are suggested at a time.
            "--cores": earlier["study"].get("workers") != self.study["workers"],
        }
        return [what for what, differs in found.items() if differs] or ["settings"]

    def _check_edited(self, file: Path) -> None:
        """Check a study file that is used again: somebody may have edited it."""
        deliver = model.load(file).deliver
        if deliver is None or deliver.method != short.METHOD:
            raise UserError(
                f"{file}: deliver.method: must be {short.METHOD}; for other deliveries, run "
                f"snakemake --configfile {file}"
            )

    def _edited(self, known: dict[str, Any], written: dict[str, Any]) -> list[str]:
        """Name the sections of a study file that differ from what was written, save the budget."""
        if isinstance(known.get("deliver"), dict):
            self._set_test(known)
        names = (name for name in {**written, **known} if name != "budget")
        return [name for name in names if known.get(name) != written.get(name)]

    def _set_test(self, study: dict[str, Any]) -> None:
        """Set this call's file of test rows in a study; no search depends on it."""
        if "deliver" in study:
            others = {key: value for key, value in study["deliver"].items() if key != "test"}
            study["deliver"] = others | ({"test": self.test} if self.test else {})

    def _remember(self) -> None:
        state = {"study": self.study, "searched": round(self.searched, 1), "data": self.data}
        write_json(self.folder / "automl.json", state)

    def _write(self, evaluations: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._remember()
        file = self.folder / "study.yaml"
        known = read_yaml(file) if file.is_file() else None
        # Manual changes to the file are kept, except the budget.
        content = known if known and self.again else self.study
        content = {**content, "budget": {"evaluations": evaluations}}
        self._set_test(content)
        if content != known:
            self._save(content)

    def _save(self, content: dict[str, Any]) -> None:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        with atomic(self.folder / "study.yaml") as temporary:
            temporary.write_text(text, encoding="utf-8")

    # The search ---------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Search until the time is up, then set the budget to what was evaluated."""
        before = self.searched
        if not self._over(self.state()):
            self._write(short.EVALUATIONS)
            show = Line()
            with self._snakemake("--until", "search") as process:
                started = known = None
                while process.poll() is None:
                    state = self.state()
                    if state and started is None:
                        started = time.monotonic()
                    if started is not None:
                        self.searched = before + time.monotonic() - started
                        if state != known:  # an interrupted evaluation does not count
                            known = state
                            self._remember()
                    if self._over(state):
                        process.interrupt()
                        break
                    show(self._progress(state))
                    time.sleep(LOOK)
                else:
                    self._check(process)
            show.end()
        state = self.state()
        if not state or state["best_error"] is None:
            raise UserError(f"no pipeline could be fitted; '{self.folder}/logs' says why")
        self._write(min(state["evaluations"], short.EVALUATIONS))

    def _over(self, state: dict[str, Any] | None) -> bool:
        """Whether the time is up and enough configurations were evaluated."""
        enough = state is not None and state["evaluations"] >= LEAST
        return enough and self.searched >= 60 * self.minutes

    def state(self) -> dict[str, Any] | None:
        """Return the progress of the search; None if it has not evaluated anything."""
        if not (self.checkpoints / "progress.json").is_file():
            return None
        return readers.progress(self.checkpoints)

    def _progress(self, state: dict[str, Any] | None) -> str:
        if state is None:
            return "reading the table and splitting it"
        best = "none yet" if state["best_error"] is None else self._loss(state["best_error"])
        failed = f", {state['failed']} failed" if state["failed"] else ""
        left = 60 * self.minutes - self.searched
        rest = f"{duration(left)} of the search left"
        if left <= 0:
            rest = f"the time is up, but at least {LEAST} pipelines are tried"
        tried = number_of(state["evaluations"], "pipeline")
        return f"{tried}{failed}, best {self.metric.title} {best}, {rest}"

    def _loss(self, loss: float) -> str:
        """Write a loss in the unit of the target, which searches standardise."""
        if self.metric.power:
            split = next((self.folder / "splits").glob("*/*/split.json"))
            loss *= read_json(split)["target"]["std"] ** self.metric.power
        return f"{loss:.4g}"

    # The ensemble -------------------------------------------------------------------------------

    def limits(self) -> str:
        """Return a line on the ensemble's cost limits."""
        study = self.folder / "study.yaml"
        content = read_yaml(study) if self.again and study.is_file() else self.study
        own = content.get("deliver", {}).get("limits") or {}
        return f"limits of the ensemble: {limits.in_words(own)} (deliver.limits in {study})"

    def deliver(self) -> None:
        """Build the ensemble, refit its members on all rows, and write the card."""
        name = self.study["study"]
        log = self.folder / layout.log("deliver", layout.DELIVERED).format(
            dataset=name, method=short.METHOD
        )
        show, earlier = Line(), _lines(log)
        with self._snakemake("--until", "deliver") as process:
            while process.poll() is None:
                lines = _lines(log)
                show(refit_progress([] if lines == earlier else lines))
                time.sleep(LOOK)
        show.end()
        if process.returncode and self._lift_limits(_lines(log)):
            self.deliver()
        else:
            self._check(process)

    def _lift_limits(self, said: list[str]) -> bool:
        """Remove default limits if no pipeline is within them, as the log says; return whether."""
        content = read_yaml(self.folder / "study.yaml")
        ours = content["deliver"].get("limits") == short.LIMITS
        if not ours or not any(NONE_WITHIN in line for line in said):
            return False
        del content["deliver"]["limits"]
        self._save(content)
        print("note: no pipeline of the ensemble is within the limits: built without limits")
        return True

    def tell(self) -> None:
        """Print how good the ensemble is, as on its card, and where the results are."""
        name = self.study["study"]
        delivered = self.folder / "delivered" / name / short.METHOD
        card = read_json(delivered / SUMMARY)
        of = {"dataset": name, "search": "divbo", "repeat": 0}
        if failed := readers.failures(layout.path(self.folder, layout.SEARCH, **of)):
            print(f"note: {printable(failed)}")
        print(printable(card["headline"]))
        for caution in card["cautions"]:
            print(f"caution: {printable(caution)}")
        print(
            f"card:    {delivered / 'card.html'}\n"
            f"use it:  {_python()} {delivered / 'predict.py'} --model {delivered} "
            "--input new.csv --output predictions.csv"
        )

    # Snakemake ----------------------------------------------------------------------------------

    def _snakemake(self, *options: str) -> "_Process":
        log = self.folder / "logs" / "automl.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)),
            *("--configfile", str(self.folder / "study.yaml"), "--cores", str(self.cores)),
            *("--quiet", "all", *options),
        ]
        return _Process(command, log)

    @staticmethod
    def _check(process: "_Process") -> None:
        """If Snakemake failed, print its messages and end with its exit status."""
        if process.returncode:
            sys.stderr.write(f"\n{process.log.read_text('utf-8', 'replace')}")
            sys.exit(process.returncode)


class _Process(subprocess.Popen):
    """A process that writes to a log, and is interrupted together with this one."""

    def __init__(self, command: list[str], log: Path):
        self.log = log
        # A shell's background job ignores SIGINT; child processes would inherit that.
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        with log.open("w", encoding="utf-8") as stream:
            # It ends with this process, even if that is killed, and its jobs end with it.
            end = partial(signals.prctl, signals.PARENT_DEATH_SIGNAL, signal.SIGKILL)
            super().__init__(command, stdout=stream, stderr=subprocess.STDOUT, preexec_fn=end)
        signal.signal(signal.SIGINT, before)

    def interrupt(self) -> None:
        """Send SIGINT to it and all its child processes, as a terminal does, and wait for the end.

        Snakemake alone would wait for its jobs.
        """
        import psutil

        with suppress(psutil.Error):
            below = psutil.Process(self.pid).children(recursive=True)
            self.send_signal(signal.SIGINT)
            for process in below:
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGINT)
        self.wait()

    def __exit__(self, *error: Any) -> None:
        if self.poll() is None:
            self.interrupt()
        super().__exit__(*error)


def refit_progress(log: list[str]) -> str:
    """Describe the progress of the delivery from its log, whose last line has a checksum."""
    if not log:
        return "selecting the ensemble from the pipelines"
    if log[-1].startswith("checksum "):
        return "done"
    return f"refitting the ensemble on all rows: {log[-1]}"


def _lines(log: Path) -> list[str]:
    return log.read_text("utf-8", "replace").splitlines() if log.is_file() else []


class Line:
    """A line on standard error that is overwritten; without a terminal, one per half minute."""

    def __init__(self, stream: IO[str] = sys.stderr):
        self.stream, self.said, self.since = stream, "", -float(LINE)

    def __call__(self, text: str) -> None:
        """Print a text."""
        now = time.monotonic()
        if self.stream.isatty():
            width = os.get_terminal_size(self.stream.fileno()).columns or 80  # 0: unknown
            self.stream.write(f"\r\x1b[K{text[: width - 1]}")
        elif text != self.said and now - self.since >= LINE:
            self.stream.write(f"{text}\n")
            self.since = now
        self.said = text
        self.stream.flush()

    def end(self) -> None:
        """Keep the last text."""
        if self.stream.isatty() and self.said:
            self.stream.write("\n")
