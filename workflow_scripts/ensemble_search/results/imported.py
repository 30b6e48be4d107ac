"""Write a study of predictions made elsewhere: tables, data, a space, and the study file.

The data consist of the labels and row numbers; no pipeline is fitted on them.
"""

import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data.normalise import SMALLEST_CLASS
from ensemble_search.problems import tasks
from ensemble_search.problems.combination import rounded
from ensemble_search.problems.regression import LARGEST
from ensemble_search.results import foreign, tables
from ensemble_search.results.foreign import Predictions
from ensemble_search.runtime import files, names, plugins
from ensemble_search.runtime.errors import UserError, printable
from ensemble_search.runtime.names import CONFIGURATION, OK
from ensemble_search.spaces._looked_up import LookedUp
from ensemble_search.study.sections.budget import Limits
from ensemble_search.study.sections.names import TAKEN, is_name
from ensemble_search.study.short import METRICS

if TYPE_CHECKING:
    import pandas as pd

#: Values use a logarithmic scale if the largest is at least this multiple of the smallest (> 0).
LOG = 1000
#: Limits of the size of numbers whose range floats can hold, and of integers exact in floats.
FARTHEST, EXACT = 1e100, 2**53
#: ConfigSpace rounds domains to multiples of this.
PLACES = 1e-13
#: Bounds of the number of evaluations in the new study, which is half the number of models. With
#: fewer models, the study has random search only.
LEAST, MOST = 6, 200
ALGORITHM = "algorithm"
NAMED = "rename it: up to 64 of A-Z, a-z, 0-9, '.', '_' and '-', the first a letter or digit"


def write(root: Path, output: Path, metric: str | None = None, fold: int = 0) -> list[str]:
    """Read predictions, and write a folder with a study that replays searches on them.

    ``root`` and ``fold`` are as in ``foreign.read``, which also says which predictions raise
    UserError. ``output`` is for ``study.yaml``, ``spaces/``, ``data/`` and ``tables/``; its name is
    the study's. ``metric`` is the loss to minimise; default: ``error`` or ``squared-error``,
    depending on the labels. Returns lines for the user on what was read and written.
    """
    if output == Path():
        raise UserError("OUTPUT (--output): it is empty; name a new folder")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(
            f"OUTPUT (--output): '{output}' already exists; remove it, or name another folder"
        )
    study = output.name
    if not is_name(study) or study.lower() in TAKEN:
        raise UserError(f"OUTPUT (--output): '{study}' cannot be the name of a study; {NAMED}")
    try:
        return _write_study(root, output, metric, fold)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise


def _write_study(root: Path, output: Path, metric: str | None, fold: int) -> list[str]:
    import pandas as pd
    import yaml

    study = output.name
    # Read twice, so that only one data set's predictions are in memory at a time.
    found = {name: replace(made, predictions={}) for name, made in foreign.read(root, fold)}
    for name, made in found.items():
        if not is_name(name):
            raise UserError(f"'{made.folder}': '{name}' cannot be the name of a data set; {NAMED}")
        if twins := [other for other in found if other.lower() == name.lower() and other != name]:
            raise UserError(f"'{made.folder}': differs from '{twins[0]}' only in case; rename one")
    kinds = {made.task for made in found.values()}
    if metric is None and len(kinds) > 1:
        raise UserError(
            f"METRIC (--metric): '{root}' has classifications and regressions; choose by the "
            f"metric, such as {METRICS[names.CLASSIFICATION]} or {METRICS[names.REGRESSION]}"
        )
    metric = metric or METRICS[min(kinds)]
    try:
        plugins.load("metrics", metric)
    except UserError as error:
        raise UserError(f"METRIC (--metric): {error}") from None
    if (task := tasks.problem(metric).task) not in kinds:
        raise UserError(f"METRIC (--metric): '{metric}' is for {task}, but this is a {min(kinds)}")
    others = [name for name, made in found.items() if made.task != task]
    found = {name: made for name, made in found.items() if made.task == task}
    models = pd.concat([made.models for made in found.values()], ignore_index=True)
    described = hyperparameters(models.drop(columns=[*foreign.MEASURED], errors="ignore"))
    stem = re.sub(r"\W", "_", f"models_of_{study}", flags=re.ASCII)
    space = type("Models", (LookedUp,), {"hyperparameters": described})
    algorithms = any(h["name"] == ALGORITHM for h in described)
    lines, datasets = [*map(printable, _mixed(models, described))], {}
    noted = dict.fromkeys(note for made in found.values() for note in made.notes)
    lines += [f"note: {printable(note)}" for note in noted]
    if others:
        lines.append(
            f"note: left out, because the metric does not fit: {', '.join(map(printable, others))}"
        )
    for name, made in foreign.read(root, fold):
        if name not in found:
            continue
        datasets[name], losses, notes = _write(name, made, output, metric, space(), stem)
        lines.append(
            printable(
                f"{name}: {len(made.models)} models ({len(losses)} ok), "
                f"{len(made.labels['validation'])} validation and {len(made.labels['test'])} test "
                f"rows; the best has a validation {metric} of {losses.min():.4g}"
            )
        )
        lines += [f"note: {name}: {note}" for note in notes]
        lines += [f"note: {name}: {note}" for note in _worse_than_a_constant(made)]
    if "fit_seconds" in models and (models["fit_seconds"] > 0).any():
        lines.append("note: CPU seconds are not known; fit_seconds are stored for them, too")
    _write_space(output / "spaces" / f"{stem}.py", described, algorithms)
    fewest = min(len(made.models) for made in found.values())
    searches = ["random", "bo", "divbo"] if fewest >= LEAST else ["random"]
    methods = {"RS": {"search": "random", "ensemble": "best"}}
    for name, search in (("RS-ES", "random"), ("BO-ES", "bo"), ("DivBO", "divbo")):
        methods[name] = {"search": search, "ensemble": "selection-25"}
    content = {
        "study": study,
        "plugins": ["."],
        "datasets": datasets,
        "space": stem.replace("_", "-"),
        "metric": metric,
        "evaluation": {"replay": f"{output}/tables"},
        "budget": {"evaluations": min(fewest, max(LEAST, min(MOST, fewest // 2)))},
        "repeats": 20,
        "searches": {name: {"optimizer": name} for name in searches},
        "ensembles": {"best": {"type": "best"}, "selection-25": {"type": "selection", "size": 25}},
        "methods": {name: own for name, own in methods.items() if own["search"] in searches},
    }
    with files.atomic(output / "study.yaml") as temporary:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        temporary.write_text(f"# Written by `make table`.\n{text}", encoding="utf-8")
    return [
        *lines,
        f"make table-info TABLE={output}/tables PLUGINS={output}",
        f"snakemake --cores 2 --configfile {output}/study.yaml",
    ]


def _worse_than_a_constant(made: Predictions) -> Iterator[str]:
    """Note if most models are worse than a constant prediction, as if rows were in another order.

    Compares the error, or the squared error.
    """
    for part, labels in made.labels.items():
        predictions = made.predictions[part]
        predictions = predictions[~np.isnan(predictions).any(axis=(1, 2))]
        if made.classes:
            guessed = np.array(made.classes)[predictions.argmax(axis=2)]
            losses = (guessed != labels).mean(axis=1)
            constant = 1 - max((labels == name).mean() for name in made.classes)
            guess, order = "most frequent class", "classes and rows"
        else:
            with np.errstate(over="ignore"):
                losses = np.square(predictions[:, :, 0] - labels).mean(axis=1)
            constant, guess, order = labels.var(), "mean label", "rows"
        worse = int((losses > constant).sum())
        if 2 * worse > len(losses):
            yield (
                f"{worse} of {len(losses)} models are worse than predicting the {guess} on the "
                f"{part} rows; check the order of {order}"
            )


def hyperparameters(models: "pd.DataFrame") -> list[dict[str, Any]]:
    """Describe the columns of models as hyperparameters; see :class:`LookedUp`.

    A column that is missing for all models with some values of ``algorithm``, and for no model with
    the other values, is active for these other values.
    """
    if models.columns.empty:
        measured = ", ".join(foreign.MEASURED)
        raise UserError(f"{foreign.MINIMAL}: has no column other than {measured}")
    for name in models:
        for known in (ALGORITHM, *foreign.MEASURED):
            if name != known and name.strip().lower() == known:
                raise UserError(f"{foreign.MINIMAL}: '{name}' is not a known column; write {known}")
    first = [ALGORITHM] if ALGORITHM in models else []
    described = []
    for name in [*first, *models.columns.drop(first)]:
        values = models[name].dropna()
        when = None
        if len(values) < len(models) or name == ALGORITHM:
            if name == ALGORITHM:
                values = values.astype(str)
            elif first and models[ALGORITHM].isna().any():
                raise UserError(f"{foreign.MINIMAL}: 'algorithm' is empty for some models")
            elif not first:
                raise UserError(
                    f"{foreign.MINIMAL}: '{name}' is missing for some models; without a column "
                    "'algorithm', each model needs a value"
                )
            else:
                there = models[name].notna().groupby(models[ALGORITHM].astype(str)).mean()
                if partly := [*there.index[(there > 0) & (there < 1)]]:
                    raise UserError(
                        f"{foreign.MINIMAL}: '{name}' is missing for some models of the algorithm "
                        f"'{partly[0]}'; give a value to all of them, or to none"
                    )
                when = [ALGORITHM, [*there.index[there == 1]]]
        if values.empty:
            raise UserError(f"{foreign.MINIMAL}: '{name}' has no value; remove the column")
        described.append({"name": str(name), "when": when, **_domain(values)})
    return described


def _mixed(models: "pd.DataFrame", described: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Note columns that are treated as categories although most of their values are numbers."""
    for h in described:
        if h["kind"] != "categorical" or h["name"] == ALGORITHM:
            continue
        values = models[h["name"]].dropna()
        odd = values[foreign.numbers(values).isna()]
        if 0 < len(odd) < len(values) / 2:
            yield (
                f"note: {foreign.MINIMAL}: '{h['name']}' has '{odd.iloc[0]}' among numbers, so it "
                "is categorical, without an order"
            )


def _domain(values: "pd.Series") -> dict[str, Any]:
    """Kind and domain of a hyperparameter's values."""
    number = values.dtype.kind in "iuf" and values.nunique() > 1
    if not number:
        choices = sorted({str(value) for value in values})
        if twins := foreign.spaced(choices):
            raise UserError(
                f"{foreign.MINIMAL}: '{values.name}' has {twins}, which differ only in "
                "surrounding spaces"
            )
        sizes = foreign.numbers(values).abs()
        if sizes.notna().all() and sizes.max() > EXACT and values.nunique() > 1:  # text in pandas
            raise UserError(
                f"{foreign.MINIMAL}: '{values.name}' has {values[sizes.idxmax()]}; integers are "
                f"exact up to {EXACT}: use smaller ones, or text"
            )
        return {"kind": "categorical", "choices": choices, "default": choices[0]}
    sizes = np.abs(values.to_numpy(float))
    if not np.isfinite(sizes).all():
        raise UserError(f"{foreign.MINIMAL}: '{values.name}' has values that are not finite")
    if (odd := (sizes > FARTHEST) | ((sizes > 0) & (sizes < 1 / FARTHEST))).any():
        raise UserError(
            f"{foreign.MINIMAL}: '{values.name}' has {values[odd].iloc[0]:g}; numbers must be 0, "
            f"or from {1 / FARTHEST:g} to {FARTHEST:g} in absolute value"
        )
    integer = bool((values == values.round()).all())
    if integer and sizes.max() > EXACT:
        largest = values.iloc[sizes.argmax()]
        raise UserError(
            f"{foreign.MINIMAL}: '{values.name}' has {largest:.0f}; integers are exact up to "
            f"{EXACT}: use smaller ones, or text"
        )
    kind, cast = ("integer", int) if integer else ("float", float)
    lower, upper = cast(values.min()), cast(values.max())
    if not integer:  # ConfigSpace rounds
        lower, upper = _outward(lower, -1), _outward(upper, 1)
    log, default = lower > 0 and upper >= LOG * lower, cast(values.iloc[0])
    return {"kind": kind, "lower": lower, "upper": upper, "log": log, "default": default}


def _outward(number: float, sign: int) -> float:
    """Round to six digits, or to the 13 places of ConfigSpace, up or down."""
    step = max(10.0 ** (math.floor(math.log10(abs(number))) - 5), PLACES) if number else 1.0
    return float(f"{sign * math.ceil(sign * number / step) * step:.6g}")


def configurations(
    models: "pd.DataFrame", described: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Active hyperparameters of every model."""
    import pandas as pd

    casts = {"categorical": str, "integer": int, "float": float}
    kinds = {h["name"]: casts[h["kind"]] for h in described}
    return [
        {name: kinds[name](value) for name, value in row.items() if not pd.isna(value)}
        for row in models[[*kinds]].to_dict("records")
    ]


def _write(
    name: str, made: Predictions, output: Path, metric: str, space: LookedUp, stem: str
) -> tuple[dict[str, Any], np.ndarray, list[str]]:
    """Write data and table of a data set.

    Return its entry in the study's ``datasets``, the validation losses of the models with
    predictions, and notes for the user.
    """
    import pyarrow as pa

    problem = tasks.problem(metric)
    train = made.labels["validation"]
    # Nothing is fitted on training rows, but each class needs some, even one that has no others.
    few = [name for name in made.classes if (train == name).sum() < SMALLEST_CLASS]
    train = np.concatenate([train, np.repeat(few, SMALLEST_CLASS)]) if few else train
    labels = {"train": train, **made.labels}
    sizes = [len(own) for own in labels.values()]
    columns = {
        "row": list(range(sum(sizes))),
        "label": pa.array(np.concatenate([*labels.values()]).tolist()),
        "part": np.repeat([*labels], sizes).tolist(),
    }
    if made.classes:  # categories: as text, many integers would be read as numbers
        columns["label"] = columns["label"].dictionary_encode()
    file = output / "data" / f"{name}.parquet"
    files.write_parquet(file, pa.table(columns))
    source = {"file": str(file), "target": "label", "columns": tables.ROLES}
    try:
        inputs, split, found = tables.split_of(file, made.task)
    except UserError as error:
        raise UserError(f"'{made.folder}': {error}") from None
    if found != sum(sizes):
        raise UserError(f"'{made.folder}': a label is a word that is read as missing; rename it")
    arrays, notes = made.predictions, list[str]()
    if made.classes:
        places = [made.classes.index(label) for label in inputs.classes]
        arrays = {part: array[:, :, places] for part, array in arrays.items()}
    else:
        scale = split["target"]
        arrays = {p: (array - scale["mean"]) / scale["std"] for p, array in arrays.items()}
        far = [(np.abs(array) > LARGEST).any(axis=(1, 2)) for array in arrays.values()]
        if cut := int(np.logical_or.reduce(far).sum()):
            notes.append(
                f"models with predictions more than {LARGEST:g} standard deviations from the mean "
                f"label, which are clipped: {cut}"
            )
        arrays = {p: np.clip(array, -LARGEST, LARGEST) for p, array in arrays.items()}
    stored = {part: problem.compress(array.astype(np.float32)) for part, array in arrays.items()}
    lacking = {part: np.isnan(array).any(axis=(1, 2)) for part, array in stored.items()}
    failed = lacking["validation"] | lacking["test"]
    if failed.all():
        raise UserError(f"'{made.folder}': no model has both validation and test predictions")
    for array in stored.values():
        array[failed] = np.nan

    def loss(own: np.ndarray) -> float:
        return float(problem.metric.loss(inputs.y_validation, rounded(problem.expand(own))))

    each = zip(failed, stored["validation"], strict=True)
    losses = [None if bad else loss(own) for bad, own in each]
    try:
        given = configurations(made.models, space.hyperparameters)
        values = [*map(dict, space.configurations(given))]
    except UserError as error:
        raise UserError(f"'{made.folder}': {error}") from None
    seen: dict[frozenset, int] = {}
    for row, own in enumerate(values, 1):
        if (first := seen.setdefault(frozenset(own.items()), row)) < row:
            raise UserError(
                f"'{made.folder}': models {first} and {row} have the same hyperparameters; remove "
                "one, or add a column that distinguishes them"
            )
    measured = foreign.measured(made).to_dict("list")
    statuses = ["crash" if bad else OK for bad in failed]
    pairs = zip(failed, measured["predict_seconds"], strict=True)
    rows: dict[str, Any] = {
        "iteration": list(range(1, len(values) + 1)),
        "status": statuses,
        "error": losses,
        "fit_seconds": measured["fit_seconds"],
        "cpu_seconds": measured["fit_seconds"],
        "predict_seconds": [None if bad else seconds for bad, seconds in pairs],
        "memory_mb": measured["memory_mb"],
        "fidelity": [1.0] * len(values),
        "error_type": ["ElsewhereError" if bad else None for bad in failed],
        "message": ["it has no predictions" if bad else None for bad in failed],
    }
    for h in space.hyperparameters:
        rows[CONFIGURATION + h["name"]] = [own.get(h["name"]) for own in values]
    types = {name: pa.string() for name in ("status", "error_type", "message")}
    table = pa.table({key: pa.array(own, types.get(key)) for key, own in rows.items()})
    conditions = {
        "dataset": name,
        "metric": metric,
        "data": inputs.checksum(),
        "space": stem.replace("_", "-"),
        "limits": Limits().model_dump(),
        "threads": 1,
        "versions": {},
    }
    tables.store(output / "tables" / name / "fixed", table, stored, conditions, [])
    if half := int((failed & ~(lacking["validation"] & lacking["test"])).sum()):
        notes.append(f"models without validation or test predictions, treated as failed: {half}")
    return source, np.array([loss for loss in losses if loss is not None]), notes


def _write_space(path: Path, described: Sequence[Mapping[str, Any]], algorithms: bool) -> None:
    """Write the space as a module that contains names and values of the models as literals."""
    lines = ['"""Models that were made elsewhere; written by `make table`."""', ""]
    lines += ["from ensemble_search.spaces._looked_up import LookedUp", "", ""]
    lines += ["class Models(LookedUp):", f'    """{len(described)} hyperparameters."""', ""]
    lines += [f"    has_algorithms = {algorithms}", "    hyperparameters = ("]
    lines += [f"        {own!r}," for own in described]
    lines += ["    )", ""]
    with files.atomic(path) as temporary:
        temporary.write_text("\n".join(lines), encoding="utf-8")
