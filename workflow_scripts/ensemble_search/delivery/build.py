"""Refit the members of an ensemble, check them, and write the folder that predicts new rows."""

import importlib.metadata
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ensemble_search.data import fetched, prepare
from ensemble_search.data.preparation import Preparation
from ensemble_search.data.split import Inputs, checked_inputs
from ensemble_search.delivery import (
    calibration,
    card,
    limits,
    measures,
    onnx_ensemble,
    onnx_export,
    own_rows,
    page,
)
from ensemble_search.ensembles.base import Members, Pool
from ensemble_search.evaluation import live
from ensemble_search.evaluation import table as tables
from ensemble_search.evaluation.base import EvaluatorError
from ensemble_search.predictor import stored
from ensemble_search.predictor.ensemble import MANIFEST, PREPARATION, load_ensemble
from ensemble_search.predictor.learners import Neighbours
from ensemble_search.problems import combination
from ensemble_search.results import readers
from ensemble_search.runtime import plugins
from ensemble_search.runtime.code_version import files as code_files
from ensemble_search.runtime.errors import UserError, number_of
from ensemble_search.runtime.files import checksums, read_json, sha256, temporary_folder, write_json
from ensemble_search.runtime.names import CLASSIFICATION, CONFIGURATION
from ensemble_search.scoring import ensemble_scores
from ensemble_search.search.progress import most_failed

#: The time limit of a refit per row is this many times that of an evaluation in the search, because
#: it also writes the pipeline.
PATIENCE = 2
#: Libraries that every ensemble needs, and further ones that nearest neighbours need.
LIBRARIES, MORE_LIBRARIES = ("numpy", "scipy"), ("scikit-learn",)
#: Largest accepted difference between a stored member and the fitted one: sums in single precision,
#: such as XGBoost's, differ in these last digits.
TOLERANCE = 1e-6
#: Number of test rows that the complete folder predicts again.
FEW_ROWS = 1000
#: ONNX files of a member, and of the whole ensemble.
PIPELINE, WHOLE = "pipeline.onnx", "ensemble.onnx"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """What an ensemble is delivered from."""

    #: Folders of the finished search and of its split.
    search: Path
    split: Path
    of: Mapping[str, Any]  #: what the search must match: ``dataset``, ``search``, ``repeat``
    ensemble: Mapping[str, Any]  #: type and settings of the ensemble
    seed: int  #: seed of the ensemble's random tie-breaking: the repeat
    space: str  #: name of the space
    limits: Mapping[str, float]  #: ``seconds`` and ``memory_mb`` of an evaluation in the search
    threads: int  #: number of threads of the learners
    #: Folder of the data set; if None, rows of groups count as independent.
    dataset: Path | None = None
    classes: Sequence[Any] = ()  #: the data set's ``classes`` in the study


def deliver(source: Source, settings: Mapping[str, Any], about: Mapping[str, Any], output: Path):
    """Write a delivered ensemble to the folder ``output``, whose content is replaced.

    ``settings`` is the section ``deliver`` of a study; ``about`` has, for the card, ``study``,
    ``dataset``, ``method``, ``metric`` and ``command``. UserError if the search has no successful
    evaluation, no member can be refitted or is within the limits, or a stored member predicts
    differently than the refitted one.
    """
    pool, test_predictions, test_labels = ensemble_scores.load(
        source.search, source.split, source.seed, source.of
    )
    if n := settings["iteration"]:
        given = readers.given(readers.search(source.search))
        if n > (most := len(pool.errors) - given):
            raise UserError(f"deliver.iteration: the search has {most} evaluations, fewer than {n}")
        pool = pool.first(given + n)
    made = plugins.make("ensembles", source.ensemble, "type", "ensemble").build(pool)
    if made is None:
        raise UserError(f"'{source.search}': no evaluation has succeeded: nothing to deliver")
    if made.combination is None:
        raise UserError(f"ensembles of type '{source.ensemble['type']}' cannot be delivered")
    inputs = checked_inputs(source.split)
    with temporary_folder(output) as folder:
        delivery = Delivery(source, settings, pool, test_predictions, test_labels, inputs, folder)
        delivery.affordable(made)
        delivery.refit()
        if settings["onnx"]:
            delivery.convertible()
        delivery.small_enough()
        delivery.finish(about)
        if output.exists():
            shutil.rmtree(output)
        folder.rename(output)
    print(f"delivered to {output}", file=sys.stderr)
    print(f"checksum {sha256(output / MANIFEST)}", file=sys.stderr)


class Delivery:
    """The delivery of one ensemble, with its steps in order."""

    def __init__(
        self,
        source: Source,
        settings: Mapping[str, Any],
        pool: Pool,
        test_predictions: np.ndarray,
        test_labels: np.ndarray,
        inputs: Inputs,
        folder: Path,
    ):
        self.source, self.settings, self.folder = source, settings, folder
        self.pool, self.inputs = pool, inputs
        self.test_predictions, self.test_labels = test_predictions, test_labels
        self.described = read_json(source.split / "split.json")
        self.own_test = self._own_test()
        table = readers.observations(source.search, ["status"], others=CONFIGURATION)
        self.warning = most_failed(Counter(table["status"].to_pylist()[: len(pool.errors)]))
        self.configurations = tables.configurations(table)
        self.notes: list[str] = []
        self.refitted: dict[int, np.ndarray] = {}
        self.loaded: dict[int, stored.StoredPipeline] = {}
        self.gaps: dict[int, float] = {}
        self.onnx: dict[int, float] = {}

    def _own_test(self) -> own_rows.OwnRows | None:
        """Read the file of test rows, if there is one."""
        if not (file := self.settings.get("test")):
            return None
        prepared, classes = read_json(self.source.split / PREPARATION), self.inputs.classes.tolist()
        return own_rows.read(file, prepared, self.described, classes, self.source.classes)

    def groups(self) -> np.ndarray | None:
        """Return codes of the test rows' groups; None if the rows are not grouped."""
        if self.source.dataset is None or "group" not in self.described.get("by", {}):
            return None
        frame, about = fetched.read(self.source.dataset)
        rows, _, _, of_rows, _ = prepare.divide(frame, about, self.described["settings"])
        return of_rows["group"][rows["test"]]

    # The ensemble -----------------------------------------------------------------------------

    def affordable(self, made: Members) -> None:
        """Keep only members within the limits of members and of time."""
        self.members = made
        # Of fewer rows, what a call costs would count as what a row costs.
        rows = max(len(self.pool.labels) + len(self.test_labels), measures.BULK)
        assert self.pool.predict_seconds is not None
        seconds = np.nan_to_num(self.pool.predict_seconds[made.indices])
        costs = {"members": np.ones(len(seconds)), "predict_ms_per_row": 1000 * seconds / rows}
        self._keep_within(costs)

    def small_enough(self) -> None:
        """Keep only members within the size limit."""
        sizes = [measures.megabytes(self._place(i)) for i in self.members.indices]
        self._keep_within({"size_mb": sizes})
        for index in set(self.refitted) - set(self.members.indices.tolist()):
            shutil.rmtree(self._place(index))

    def _keep_within(self, costs: Mapping[str, Sequence[float]]) -> None:
        given = {k: v for k, v in self.settings["limits"].items() if v is not None and k in costs}
        kept = limits.affordable(self.members, self.pool.errors, costs, given)
        if not len(kept):
            cheapest = {name: min(costs[name]) for name in given}
            said = ", ".join(f"{name} {value:.3g}" for name, value in cheapest.items())
            raise UserError(f"{limits.NONE_WITHIN}; the cheapest have {said}: raise the limits")
        if len(kept) < len(self.members.indices):
            self._reselect(self.members.indices[kept], f"limits ({limits.in_words(given)})")

    def _reselect(self, candidates: np.ndarray, why: str) -> None:
        before = self.members
        self.members = members = limits.reselected(self.pool, candidates)
        old, new = (self._validation_error(m) for m in (before, members))
        self._note(
            f"{why}: selection repeated, {number_of(len(before.indices), 'member')} before, "
            f"{len(members.indices)} after; validation loss {old:.4f} before, {new:.4f} after"
        )

    def _note(self, text: str) -> None:
        self.notes.append(text)
        print(text, file=sys.stderr)

    def _validation_error(self, members: Members) -> float:
        pool = self.pool
        return pool.problem.metric.loss(pool.labels, members.predict(pool.predictions))

    # The members ------------------------------------------------------------------------------

    def refit(self) -> None:
        """Refit the members in a worker, and store them."""
        inputs = chosen_rows(self.inputs, self.test_labels, self.settings["rows"])
        ratio = len(inputs.y_train) / _rows_of_a_fit(self.inputs)
        seconds = PATIENCE * max(1.0, ratio) * self.source.limits["seconds"]
        own = {**self.source.limits, "seconds": seconds}
        file = self.folder / "inputs.npz"
        np.savez(file, allow_pickle=False, **vars(inputs))
        failed = []
        try:
            evaluator = live.make(self.source.space, file, own, self.source.threads)
            with evaluator, threadpool_limits(1):
                for number, index in enumerate(self.members.indices.tolist(), 1):
                    place = self._place(index)
                    found = evaluator.evaluate(self.configurations[index], save=place)
                    said = f"member {number} of {len(self.members.indices)}, evaluation {index + 1}"
                    print(f"{said}: {found.status}, {found.fit_seconds:.1f} s", file=sys.stderr)
                    why = f"{found.status}: {found.message}"
                    if found.status == "timeout":  # without the wall-clock limit that follows it
                        why = f"timeout: more than {seconds:g} s of CPU time"
                    if found.test is not None:
                        why = self._differs(index, self.pool.problem.compress(found.test))
                    if why:
                        failed.append(f"evaluation {index + 1} ({why})")
                        shutil.rmtree(place, ignore_errors=True)
        except EvaluatorError as error:
            raise UserError(str(error)) from error
        finally:
            file.unlink(missing_ok=True)
        if not self.refitted:
            raise UserError(f"deliver: no member could be refitted: {failed[0]}")
        if failed:
            candidates = np.array(sorted(self.refitted))
            self._reselect(candidates, f"could not be refitted: {'; '.join(failed)}")

    def _differs(self, index: int, expected: np.ndarray) -> str:
        """Load a stored member, compare it with the fitted one, and describe any difference."""
        problem, X = self.pool.problem, self.inputs.X_test
        classes = len(self.inputs.classes) if problem.task == CLASSIFICATION else None
        try:
            member = stored.load(self._place(index), X.shape[1], classes)
            found = problem.compress(problem.predict(member, X, classes or 1))
        except (UserError, ValueError) as error:
            return str(error)
        gap = largest_difference(found, expected)
        if not gap <= TOLERANCE:
            return f"its predictions after storing and loading differ by up to {gap:.3g}"
        self.refitted[index], self.gaps[index], self.loaded[index] = expected, gap, member
        return ""

    def convertible(self) -> None:
        """Write the members as ONNX; leave out those that cannot be converted or that differ."""
        n_classes = len(self.inputs.classes) if self.pool.problem.task == CLASSIFICATION else None
        X, failed = self.inputs.X_test, []
        for index in self.members.indices.tolist():
            place, expected = self._place(index), self.refitted[index]
            try:
                model = onnx_export.export(self.loaded[index], X.shape[1], n_classes)
                self.onnx[index] = onnx_export.check(model, X, expected, self.pool.problem)
                (place / PIPELINE).write_bytes(model)
            except onnx_export.NotConvertible as error:
                failed.append(f"evaluation {index + 1} ({error})")
        why = "; ".join(failed)
        if not self.onnx:
            raise UserError(f"deliver.onnx: no member can be converted to ONNX: {why}")
        if failed:
            self._reselect(np.array(sorted(self.onnx)), f"not in ONNX: {why}")

    def _whole_in_onnx(self, ensemble: Any, parity: dict[str, Any]) -> None:
        """Write preparation, members and combination as one graph, or note why not."""
        places = map(self._place, self.members.indices.tolist())
        models = [(place / PIPELINE).read_bytes() for place in places]
        try:
            model = onnx_ensemble.export(ensemble, models)
            gap = onnx_ensemble.check(model, ensemble, self.inputs.X_test)
        except onnx_export.NotConvertible as error:
            self._note(f"there is no {WHOLE}: {error}")
            return
        (self.folder / WHOLE).write_bytes(model)
        parity["largest_difference_of_the_onnx_graph"] = gap

    def _place(self, index: int) -> Path:
        return self.folder / "members" / str(index + 1)

    # The folder -------------------------------------------------------------------------------

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write preparation, code, manifest and card, and check what users will load."""
        problem, folder, described = self.pool.problem, self.folder, self.described
        prepared, temperature = read_json(self.source.split / PREPARATION), 1.0
        fitted_on = chosen_rows(self.inputs, self.test_labels, self.settings["rows"]).X_train
        preparation = Preparation.from_json(prepared).widened(fitted_on)
        write_json(folder / PREPARATION, {**prepared, **preparation.to_json()})
        if self.settings["calibrate"]:
            found = problem.expand(self.members.predict(self.pool.predictions))
            weights = self.inputs.validation_weights
            temperature = calibration.temperature(found, self.pool.labels, weights)
        manifest = {
            **{key: about[key] for key in ("study", "dataset", "method", "metric")},
            "task": problem.task,
            "target": prepared["target"],
            "columns": preparation.outline(),
            **self._outputs(described),
            "combination": self.members.combination,
            "temperature": temperature,
            "rows": self.settings["rows"],
            "members": [
                {"evaluation": int(i) + 1, "weight": float(w), "folder": f"members/{i + 1}"}
                for i, w in zip(self.members.indices, self.members.weights, strict=True)
            ],
            "versions": {name: importlib.metadata.version(name) for name in self._libraries()},
            "data": described["source_checksum"],
        }
        copy_code(folder)
        self._requirements(manifest["versions"])
        self._write(manifest)
        ensemble = load_ensemble(folder)
        parity = self._parity(ensemble)
        if self.settings["onnx"]:
            self._whole_in_onnx(ensemble, parity)
        write_json(folder / "parity.json", parity)
        page.write(card.make(self, ensemble, manifest, described, parity, about), folder)
        self._write(manifest)
        load_ensemble(folder)

    def _outputs(self, described: Mapping[str, Any]) -> dict[str, Any]:
        if self.pool.problem.task == CLASSIFICATION:
            labels = {"labels": described["labels"]} if "labels" in described else {}
            return {"classes": self.inputs.classes.tolist(), **labels}
        found = {key: described["target"][key] for key in ("mean", "std")}
        gaps = self.pool.labels - self.members.predict(self.pool.predictions)[:, 0]
        residuals = calibration.residuals(gaps, self.inputs.validation_weights)
        return {**found, "residuals": residuals.tolist()}

    def _libraries(self) -> tuple[str, ...]:
        used = [self.loaded[index].learner for index in self.members.indices.tolist()]
        more = any(isinstance(learner, Neighbours) for learner in used)
        return LIBRARIES + MORE_LIBRARIES * more

    def _requirements(self, versions: Mapping[str, str]) -> None:
        lines = [f"# Python {platform.python_version()}"]
        lines += [f"{name}=={version}" for name, version in versions.items()]
        (self.folder / "requirements.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _write(self, manifest: Mapping[str, Any]) -> None:
        names = sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != MANIFEST and "__pycache__" not in path.parts
        )
        write_json(self.folder / MANIFEST, {**manifest, "files": checksums(self.folder, names)})

    def _parity(self, ensemble: Any) -> dict[str, Any]:
        """Compare the stored members with the refitted ones, and these with the search."""
        # Each member was compared on all test rows: only its copy in the folder remains to check.
        again = ensemble.member_predictions(self.inputs.X_test[:FEW_ROWS])
        for index, found in zip(self.members.indices.tolist(), again, strict=True):
            gap = largest_difference(found, self.refitted[index][:FEW_ROWS])
            if not gap <= TOLERANCE:
                raise UserError(
                    f"evaluation {index + 1}: predictions in the folder differ by up to {gap:.3g}"
                )
        gaps = [self.gaps[index] for index in self.members.indices.tolist()]
        parity: dict[str, Any] = {
            "test_rows": len(self.test_labels),
            "largest_difference_from_the_refitted": max(gaps),
        }
        if self.settings["rows"] == "train" and not self.inputs.folds.size:
            own = [combination.rounded(self.test_predictions[i]) for i in self.members.indices]
            then = [combination.rounded(self.refitted[int(i)]) for i in self.members.indices]
            parity["largest_difference_from_the_search"] = float(
                max(np.abs(a - b).max() for a, b in zip(own, then, strict=True))
            )
        if self.onnx:
            used = {str(i + 1): self.onnx[i] for i in self.members.indices.tolist()}
            parity["largest_difference_of_onnx"] = used
        return parity


def largest_difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest absolute difference; relative for numbers beyond 1."""
    return float((np.abs(found - expected) / np.maximum(1, np.abs(expected))).max())


def chosen_rows(inputs: Inputs, test_labels: np.ndarray, on: str) -> Inputs:
    """Make the inputs of a refit: the chosen rows as training rows, without folds.

    ``on`` is ``train``, ``train+validation`` or ``all``; with folds, the validation rows already
    are training rows.
    """
    parts = [(inputs.X_train, inputs.y_train, inputs.weights)]
    if on != "train" and not inputs.folds.size:
        parts.append((inputs.X_validation, inputs.y_validation, inputs.validation_weights))
    if on == "all":
        parts.append((inputs.X_test, test_labels, inputs.test_weights))
    X, y, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    return replace(
        inputs,
        X_train=X,
        y_train=y,
        weights=weights,
        X_validation=inputs.X_test[:1],
        y_validation=inputs.y_validation[:0],
        folds=inputs.folds[:0],
        validation_weights=np.empty(0),
        test_weights=np.empty(0),
    )


def copy_code(folder: Path) -> None:
    """Copy the code that the folder needs to predict: ``predict.py`` and the modules it imports."""
    for name in code_files("predict", neutral=True):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)


def _rows_of_a_fit(inputs: Inputs) -> float:
    """Return how many rows the search fitted a pipeline on, averaged over folds."""
    if not inputs.folds.size:
        return len(inputs.y_train)
    folds = int(inputs.folds.max()) + 1
    return len(inputs.y_train) * (folds - 1) / folds
