"""Read predictions that were made elsewhere, in three layouts.

``<data set>/{models.csv, labels-*.csv, predictions-*.npy}``
    The minimal layout; see docs/replay.md.
``<data set>/<fold>/{metadata.json, label-*.csv.zip, pred-*.dat}``
    ``model_predictions`` of a context of TabRepo (Salinas and Erickson, AutoML 2024), or of the
    methods of TabArena (Erickson et al., NeurIPS 2025), ``<method>/processed/model_predictions``,
    whose models are combined. Beside it, ``configs_hyperparameters.json`` has the models'
    hyperparameters and ``configs.parquet`` their times, if given.
``<run>/predictions/<task>/<fold>/predictions.csv``
    Results of the AutoML benchmark (Gijsbers et al., JMLR 2024). They have test rows only, so half
    of the rows, drawn by class, become validation rows. Some files write the classes in lower case
    but not the labels, so case and surrounding space are ignored.
"""

import csv
import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ensemble_search.data import file_limits
from ensemble_search.data.digits import like_versions, vanishes
from ensemble_search.data.rows import share_of_rows
from ensemble_search.evaluation.table_checks import MOST, NUMBER
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Unusable, read_json, read_npy, reading
from ensemble_search.runtime.names import CLASSIFICATION, MISSING, NONE, PARTS, REGRESSION

if TYPE_CHECKING:
    import pandas as pd

#: Columns of ``models.csv`` that are not hyperparameters.
MEASURED = ("fit_seconds", "predict_seconds", "memory_mb")
#: Words in the names of columns with numbers that are results of models, in lower case.
RESULTS = {"error", "loss", "logloss", "accuracy", "auc", "auroc", "score", "f1", "rmse", "mse",
           "mae", "r2", "brier"}  # fmt: skip
#: Words in the names of columns with numbers that may be measured times, in lower case.
TIMES = {"time", "times", "second", "seconds", "sec", "secs", "ms", "duration"}
#: A number as text, also where others of its column are not: 12.5%, or 0,1 beside '-'.
_FIGURE = re.compile(r"\s*[+-]?(?:\d[\d.,]*|\.\d+)(?:[eE][+-]?\d+)?\s*%?\s*")
#: Tolerance by which sums of probabilities may differ from 1; probabilities are divided by the sum.
SLACK = 0.01
#: Files of each layout.
MINIMAL, TABREPO, AMLB = "models.csv", "pred-val.dat", "predictions.csv"
#: Where data sets of TabRepo and TabArena may be below the given folder.
CONTEXTS = ("", "model_predictions/", "processed/model_predictions/")
METHODS = "*/processed/model_predictions/"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for a data set."""

    folder: Path  #: where they were read
    #: One row per model: hyperparameters (missing if inactive), and perhaps :data:`MEASURED`.
    models: "pd.DataFrame"
    labels: dict[str, np.ndarray]  #: by part, text or float64, of shape (n_samples,)
    classes: list[str]  #: in the order of the columns of predictions; empty in regression
    #: By part, of shape (n_models, n_samples, n_outputs); NaN for failed models.
    predictions: dict[str, np.ndarray]
    #: What may be interpreted differently than intended.
    notes: list[str] = field(default_factory=list)

    @property
    def task(self) -> str:
        """``classification`` or ``regression``."""
        return CLASSIFICATION if self.classes else REGRESSION


def read(root: Path, fold: int = 0) -> Iterator[tuple[str, Predictions]]:
    """Read the predictions of a fold below a folder, one data set at a time, sorted by name.

    Raises UserError if there is no data set, or a file is missing, damaged or inconsistent with the
    others.
    """
    try:
        if folders := sorted(file.parent for file in root.glob(f"*/{MINIMAL}")):
            if fold:
                raise UserError(f"FOLD (--fold): {fold} is not possible: '{root}' has no folds")
            parts = [*root.glob("*/labels-*.csv"), *root.glob("*/predictions-*.npy")]
            for folder in sorted(file.parent for file in parts):
                if folder not in folders:
                    raise Unusable(folder / MINIMAL, "it does not exist")
            for folder in folders:
                yield folder.name, _checked(_minimal(folder))
        elif datasets := _tabrepo_folders(root, fold):
            every = _tabrepo_folders(root, "*")
            methods = {path.parts[-3] for path in root.absolute().glob(METHODS)}
            for name in sorted(datasets):
                notes = _gaps(every, datasets, name, methods, fold)
                yield name, _checked(_tabrepo(datasets[name]), notes)
        elif tasks := _amlb_files(root, fold):
            every = _amlb_files(root, "*")
            runs = {path.parent.name for path in root.glob("*/predictions")}
            for task in sorted(tasks):
                notes = _gaps(every, tasks, task, runs, fold)
                yield task, _checked(_amlb(tasks[task]), notes)
        elif (root / MINIMAL).exists():
            raise UserError(f"'{root}' is the folder of a data set; give the folder that it is in")
        else:
            if not root.is_dir():
                raise UserError(f"there is no folder '{root}'")
            raise UserError(
                f"'{root}' holds no predictions: neither <data set>/{MINIMAL} nor <data set>/"
                f"{fold}/{TABREPO} (TabRepo) nor <run>/predictions/<task>/{fold}/{AMLB} (AutoML "
                "benchmark)"
            )
    except Unusable as error:  # its remedy is for results of this project
        raise UserError(f"'{error.path}': {error.reason}") from None


def _minimal(folder: Path) -> Predictions:
    models = _csv(folder / MINIMAL)
    written = _csv(folder / MINIMAL, text=True)
    notes = []
    for name in written.columns.difference(MEASURED):
        own = {part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)}
        figures = any(map(_FIGURE.fullmatch, written[name]))
        if figures and not RESULTS.isdisjoint(own):
            raise Unusable(
                folder / MINIMAL,
                f"'{name}' looks like a result, which searches must not see: remove the column "
                "(losses are computed from the predictions), or rename it if it is a "
                "hyperparameter",
            )
        if figures and not TIMES.isdisjoint(own):
            notes.append(
                f"{MINIMAL}: '{name}' is read as a hyperparameter; measured times belong in "
                "fit_seconds and predict_seconds"
            )
        if models[name].dtype.kind != "f":
            continue
        words = {*written[name]}
        if tiny := sorted(filter(vanishes, words)):
            raise Unusable(folder / MINIMAL, f"'{name}' has {tiny[0]}, which is 0 as a float")
        said = like_versions({word for word in words if "." in word})
        notes += [f"{MINIMAL}: '{name}' has {said}; write versions as text"] if said else []
        for word in sorted(filter(re.compile(r"\d+\.\d*[1-9]0+").fullmatch, words)):
            if (other := word.rstrip("0")) in words:
                raise Unusable(
                    folder / MINIMAL,
                    f"'{name}' has {other} and {word}, which are one number; write versions as "
                    f"text, such as v{word}",
                )
    labels = {}
    for part in PARTS:
        path = folder / f"labels-{part}.csv"
        frame = _csv(path, text=True)
        if list(frame.columns) != ["label"]:
            raise Unusable(path, f"has the columns {', '.join(frame)}; give one column, 'label'")
        labels[part] = frame["label"].to_numpy(dtype=str)
    arrays = {part: read_npy(folder / f"predictions-{part}.npy") for part in PARTS}
    return replace(_of(folder, models, labels, arrays), notes=notes)


def _gaps(
    every: Mapping, found: Mapping[str, Sequence[Path]], name: str, sources: Set[str], fold: int
) -> list[str]:
    """Note data sets without this fold, and the runs or methods without this data set."""
    others = sorted({*every} - {*found})
    notes = [f"left out, without predictions of fold {fold}: {', '.join(others)}"] if others else []
    lacking = sorted(sources - {path.parts[-5] for path in found[name]})
    return notes + ([f"{name}: no predictions of {', '.join(lacking)}"] if lacking else [])


def _amlb_files(root: Path, fold: int | str) -> dict[str, list[Path]]:
    """Files of the fold per task, one per run that has it."""
    return _by_data_set(root.glob(f"*/predictions/*/{fold}/{AMLB}"))


def _tabrepo_folders(root: Path, fold: int | str) -> dict[str, list[Path]]:
    """Folders of the fold per data set: one, or one per method that has it."""
    for below in (*CONTEXTS, METHODS):
        if found := _by_data_set(root.absolute().glob(f"{below}*/{fold}/{TABREPO}")):
            return {name: [file.parent for file in own] for name, own in found.items()}
    return {}


def _by_data_set(files: Iterable[Path]) -> dict[str, list[Path]]:
    """Group the files ``<data set>/<fold>/<name>``, sorted."""
    found: dict[str, list[Path]] = {}
    for file in sorted(files):
        found.setdefault(file.parts[-3], []).append(file)
    return found


def _tabrepo(folders: Sequence[Path]) -> Predictions:
    import pandas as pd

    labels: dict[str, np.ndarray] = {}
    names, models, arrays = list[str](), [], []
    for folder in folders:
        own_names, own_labels, own_arrays = _tabrepo_folder(folder)
        if twins := sorted({*names} & {*own_names}):
            raise Unusable(folder, f"model '{twins[0]}' is also of another method")
        for part, own in own_labels.items():
            if not np.array_equal(labels.setdefault(part, own), own):
                raise Unusable(folder, f"its {part} labels are not those of '{folders[0]}'")
        names += own_names
        models.append(_tabrepo_models(folder, own_names))
        arrays.append(own_arrays)
    shapes = {own[part].shape[2:] for own in arrays for part in PARTS}
    if len(shapes) > 1:
        raise Unusable(folders[0], "models differ in the number of classes")
    together = {part: np.concatenate([own[part] for own in arrays]) for part in PARTS}
    (outputs,) = shapes
    classes = _codes(labels, outputs[0]) if outputs else None
    return _of(folders[0], pd.concat(models, ignore_index=True), labels, together, classes)


def _codes(labels: dict[str, np.ndarray], outputs: int) -> list[str] | None:
    """Return one integer code per output if the labels are such codes; None otherwise.

    Rows may lack some of the codes. The labels are rewritten as integers.
    """
    numbers = _numbers(np.concatenate([*labels.values()]))
    if outputs < 2 or numbers is None or not np.isin(numbers, np.arange(outputs)).all():
        return None
    for part, own in labels.items():
        labels[part] = own.astype(float).astype(int).astype(str)
    return [*map(str, range(outputs))]


def _tabrepo_folder(folder: Path) -> tuple[list[str], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the names of the models, and labels and predictions by part."""
    about = read_json(folder / "metadata.json")
    if about.get("dtype") not in ("float16", "float32", "float64"):
        raise Unusable(folder / "metadata.json", "its 'dtype' is not float16, float32 or float64")
    dtype = np.dtype(about["dtype"])
    labels, arrays = {}, {}
    for part, short in zip(PARTS, ("val", "test"), strict=True):
        path = folder / f"label-{short}.csv.zip"
        labels[part] = _csv(path, text=True, unnamed=True).iloc[:, -1].to_numpy(dtype=str)
        path, key = folder / f"pred-{short}.dat", f"pred_{short}_shape"
        shape: Any = about.get(key)
        integers = type(shape) is list and all(type(n) is int and n > 0 for n in shape)
        if not integers or len(shape) not in (2, 3):
            said = f"its '{key}' is not a list of 2 or 3 integers from 1 on"
            raise Unusable(folder / "metadata.json", said)
        with reading(path):
            if path.stat().st_size != dtype.itemsize * math.prod(shape):
                said = f"its size is not that of {dtype} {tuple(shape)}, as metadata.json says"
                raise ValueError(said)
            arrays[part] = np.fromfile(path, dtype).reshape(shape)
    if type(names := about.get("models")) is not list or len({*map(str, names)}) < len(names):
        raise Unusable(folder / "metadata.json", "it has no list 'models' of different names")
    if any(len(array) != len(names) for array in arrays.values()):
        raise Unusable(folder / "metadata.json", "its shapes and 'models' differ in their number")
    return [*map(str, names)], labels, arrays


def _tabrepo_models(folder: Path, names: Sequence[str]) -> "pd.DataFrame":
    """Describe models by the files of their context; without these, by family and name."""
    import pandas as pd

    context, dataset, fold = folder.parents[2], folder.parts[-2], folder.name
    path = context / "configs_hyperparameters.json"
    known = _families(path) if path.exists() else {}
    rows: list[dict[str, Any]] = []
    for name in names:
        # Names of bagged models end in _BAG_L1; names of configurations may not.
        own = known.get(name) or known.get(name.rsplit("_BAG_", 1)[0])
        family = {"algorithm": name.split("_", 1)[0], "model": name}
        rows.append(own or ({"algorithm": name} if known else family))
    models = pd.DataFrame(rows)
    if (path := context / "configs.parquet").exists():
        columns = {"time_train_s": "fit_seconds", "time_infer_s": "predict_seconds"}
        with reading(path):
            times = pd.read_parquet(path)
            for column in ("dataset", "fold", "framework", *columns):
                if column not in times:
                    raise ValueError(f"it has no column '{column}'")
        own = times[(times["dataset"] == dataset) & (times["fold"].astype(str) == fold)]
        own = own.drop_duplicates("framework").set_index("framework").reindex(names)
        for column, measured_as in columns.items():
            models[measured_as] = own[column].fillna(0.0).to_numpy(float)
    return models


def _families(path: Path) -> dict[str, dict[str, Any]]:
    """Return the algorithm and the hyperparameters of every configuration.

    The algorithm is the family, such as LightGBM. Configurations that set other hyperparameters
    than most of their family, such as defaults, are algorithms of their own: the values that they
    do not set are unknown. This is decided over all configurations, so that data sets agree.
    """
    sets: dict[str, dict[str, Any]] = {}
    for name, about in read_json(path).items():
        own = about.get("hyperparameters") if isinstance(about, Mapping) else None
        if not isinstance(own, Mapping):
            raise Unusable(path, f"'{name}' has no 'hyperparameters'")
        sets[name] = {key: v for key, v in own.items() if not key.startswith("ag_args")}
    families = {name: re.sub(r"_[cr]\d+(_BAG_.*)?$", "", name) for name in sets}
    most = {
        family: Counter(tuple(sorted(sets[n])) for n in sets if families[n] == family)
        for family in {*families.values()}
    }
    found: dict[str, dict[str, Any]] = {}
    for name, own in sets.items():
        family = families[name]
        usual = most[family].most_common(1)[0][0] == tuple(sorted(own))
        algorithm = family if usual else name
        found[name] = {"algorithm": algorithm} | {
            f"{algorithm}.{key}": value if type(value) in (int, float, str) else json.dumps(value)
            for key, value in sorted(own.items())
        }
    # Configurations that differ in a seed only, for example, are distinguished by name.
    times = Counter(json.dumps(own) for own in found.values())
    alike = {own["algorithm"] for own in found.values() if times[json.dumps(own)] > 1}
    for name, own in found.items():
        if own["algorithm"] in alike:
            own["model"] = name
    return found


def _amlb(files: Sequence[Path]) -> Predictions:
    import pandas as pd

    names = [file.parts[-5].split(".")[0] for file in files]
    labels, columns, found, notes = np.empty(0, dtype=str), None, [], []
    for file in files:
        frame = _csv(file, text=True)
        if not {"truth", "predictions"} <= {*frame}:
            raise Unusable(file, "it has no columns 'predictions' and 'truth'")
        if "repeated_item_id" in frame:
            raise Unusable(file, "it has forecasts of time series, which cannot be imported")
        # Classes come first; columns after 'truth' are specific to the framework.
        written = [*frame][: [*frame].index("predictions")]
        classes = [*map(_plain, written)]
        if twins := sorted(name for name in {*classes} if classes.count(name) > 1):
            raise Unusable(file, f"two of its classes are '{twins[0]}' in lower case")
        if classes:
            truth = np.array([*map(_plain, frame["truth"])], dtype=str)
        else:
            truth = _floats(file, frame[["truth"]])[:, 0].astype(str)
        if columns is None:
            labels, columns = truth, classes
        if not np.array_equal(truth, labels) or {*classes} != {*columns}:
            raise Unusable(file, f"its rows or classes are not those of '{files[0]}'")
        order = [written[classes.index(name)] for name in columns]
        found.append(_floats(file, frame[order or ["predictions"]], failed=True))
        if columns:
            named = np.array([*map(_plain, frame["predictions"])])[:, None] == np.array(columns)
            most = np.where(named, found[-1], -np.inf).max(axis=1)
            # False for rows of a failed model, whose probabilities are NaN.
            if others := int((most < found[-1].max(axis=1)).sum()):
                notes.append(
                    f"'{file}': in {others} of {len(frame)} rows, the column 'predictions' names a "
                    "class that is not the most probable; only the probabilities are used"
                )
    codes = np.unique(labels, return_inverse=True)[1] if columns else labels.astype(float)
    half = share_of_rows(codes, 0.5)
    rows = {"validation": half, "test": np.setdiff1d(np.arange(len(labels)), half)}
    pairs = zip(files, names, strict=True)
    names = [file.parts[-5] if names.count(name) > 1 else name for file, name in pairs]
    models = pd.DataFrame({"model": names})
    arrays = np.stack(found)
    parts = {part: labels[own] for part, own in rows.items()}
    predictions = {part: arrays[:, own] for part, own in rows.items()}
    return replace(_of(files[0].parent, models, parts, predictions, columns), notes=notes)


def _plain(label: str) -> str:
    """Normalise a label as the AutoML benchmark does to compare labels."""
    return label.strip().lower()


def _floats(file: Path, frame: "pd.DataFrame", failed: bool = False) -> np.ndarray:
    """Convert text to float64; with ``failed``, empty fields and words for missing become NaN."""
    for name in frame:
        made = numbers(frame[name])
        odd = made.isna() & ~(failed and frame[name].isin(["", *MISSING]))
        for row in np.flatnonzero(odd)[:1]:
            word = frame[name].iloc[row]
            raise Unusable(file, f"column '{name}' has '{word}' in row {row + 1}, not a number")
        frame = frame.assign(**{name: made})
    return frame.to_numpy(dtype=float)


def _of(
    folder: Path,
    models: "pd.DataFrame",
    labels: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
    classes: Sequence[str] | None = None,
) -> Predictions:
    """Bring predictions into the shape (models, samples, outputs).

    By default, classes are sorted as in scikit-learn: numbers by value.
    """
    for part, own in labels.items():
        for row in np.flatnonzero(np.isin(own, ["", "nan", "NaN"]))[:1]:
            raise Unusable(folder, f"{part} row {row + 1} has no label")
    known = np.unique(np.concatenate([*labels.values()]))
    if len(known) == 1 and classes is None:
        raise Unusable(folder, f"all labels are '{known[0]}'; two classes or numbers are needed")
    if twins := spaced(known.tolist()):
        raise Unusable(folder, f"labels {twins} differ in space around them only")
    numbers = _numbers(known)
    outputs = {array.shape[2] if array.ndim == 3 else 1 for array in arrays.values()}
    if classes is None:
        different = 0 if numbers is None else len(np.unique(numbers))
        regression = outputs == {1} and different > 2
        order = np.argsort(numbers, kind="stable") if numbers is not None else slice(None)
        classes = [] if regression else known[order].tolist()
    shaped = {}
    for part, array in arrays.items():
        if array.dtype.kind != "f":
            raise Unusable(folder, f"{part} predictions are of type {array.dtype}, not floats")
        pair = len(models), len(labels[part])
        right = [(*pair, len(classes) or 1)] + ([pair] if len(classes) in (0, 2) else [])
        if array.shape not in right:
            wanted = " or ".join(map(str, right))
            raise Unusable(
                folder,
                f"{part} predictions are of shape {array.shape}; {len(models)} models, {pair[1]} "
                f"labels and {_list(classes)} need {wanted}{_no_number(known, outputs)}",
            )
        own = array[:, :, None] if array.ndim == 2 else array
        single = len(classes) == 2 and own.shape[2] == 1
        shaped[part] = np.concatenate([1 - own, own], axis=2) if single else own
    if not classes:
        for word in filter(vanishes, known.tolist()):
            raise Unusable(folder, f"label {word} is 0 as a float; multiply labels and predictions")
        labels = {part: own.astype(float) for part, own in labels.items()}
    return Predictions(folder, models, labels, list(classes), shaped)


def _no_number(labels: np.ndarray, outputs: set[int]) -> str:
    """Explain why single predictions are not a regression if most labels could be numbers."""
    odd = [label for label in labels.tolist() if _numbers(np.array([label])) is None]
    regression = outputs == {1} and len(labels) > 2
    return f"; for a regression, labels are numbers, not '{odd[0]}'" if regression and odd else ""


def _list(classes: Sequence[str]) -> str:
    """Describe the number of classes, and the first of them."""
    if not classes:
        return "no classes"
    shown = ", ".join([*map(repr, classes[:5]), *["..."][: len(classes) > 5]])
    return f"{len(classes)} classes ({shown})"


def spaced(words: Sequence[str]) -> str:
    """Return two words that differ only in surrounding space, such as ``'a' and 'a '``, or ''."""
    seen: dict[str, str] = {}
    for word in words:
        if (other := seen.setdefault(word.strip(), word)) != word:
            return f"{other!r} and {word!r}"
    return ""


def _checked(made: Predictions, notes: Sequence[str] = ()) -> Predictions:
    """Raise Unusable unless all parts are consistent; scale probabilities, and add notes."""
    made.notes.extend(notes)
    if not len(made.models):
        raise Unusable(made.folder, "it has no model")
    for part in PARTS:
        labels = made.labels[part]
        if not len(labels):
            raise Unusable(made.folder, f"there are no {part} labels")
        if made.classes and (unknown := sorted({*labels.tolist()} - {*made.classes})):
            raise Unusable(made.folder, f"{part} label '{unknown[0]}' is not one of the classes")
        if not made.classes and not np.isfinite(labels).all():
            raise Unusable(made.folder, f"{part} labels are not all finite numbers")
        array = made.predictions[part] = made.predictions[part].astype(np.float64)
        failed = np.isnan(array).all(axis=(1, 2))
        good = array[~failed]
        if not np.isfinite(good).all():
            model = int(np.flatnonzero(~np.isfinite(array).all(axis=(1, 2)) & ~failed)[0])
            raise Unusable(
                made.folder,
                f"{part} predictions of model {model} (from 0) are not all finite; NaN in all of "
                "them marks a model that failed",
            )
        if made.classes:
            sums = good.sum(axis=2, keepdims=True)
            wrong = (good < 0).any(axis=2) | (np.abs(sums[..., 0] - 1) > SLACK)
            for place, row in np.argwhere(wrong)[:1].tolist():
                shown = ", ".join(f"{own:.4g}" for own in good[place, row, :5])
                raise Unusable(
                    made.folder,
                    f"{part} predictions are not all probabilities with the sum 1: those of model "
                    f"{np.flatnonzero(~failed)[place]} and row {row} (from 0) are {shown}"
                    f"{', ...' * (good.shape[2] > 5)}",
                )
            array[~failed] = good / sums
    return made


def _csv(path: Path, text: bool = False, unnamed: bool = False) -> "pd.DataFrame":
    """Read a CSV file, or the only one in a zip archive; with ``unnamed``, allow a pandas index."""
    import pandas as pd

    with reading(path):
        try:
            content = _content(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("it is not text in UTF-8; save it so, uncompressed") from None
        _check_fields(io.StringIO(content, newline=""), unnamed)
        return pd.read_csv(
            io.StringIO(content),
            dtype=str if text else None,
            keep_default_na=False,
            na_values=[] if text else sorted(MISSING - {NONE}),
        )


def _content(path: Path) -> bytes:
    """Bytes of a file, unpacked, but at most as many as ``file_limits`` allows."""
    file_limits.check_file(path)
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) != 1:
            raise ValueError("it must hold one file, and holds others or none")
        (only,) = archive.infolist()
        file_limits.check_bytes(only.file_size, " unpacked")
        with archive.open(only) as stream:
            return stream.read(only.file_size)


def _check_fields(stream: IO[str], unnamed: bool) -> None:
    """Raise ValueError where pandas would rename a column or shift fields to other columns."""
    rows = csv.reader(file_limits.lines(stream), strict=True)
    header = next(rows, [])
    if len(header) == 1 and (found := re.search("[;\t|]", header[0])):
        raise ValueError(f"its fields are separated by {found[0]!r}; separate them by commas")
    for i, name in enumerate(header, 1):
        if not name.strip() and not unnamed:
            raise ValueError(f"column {i} has no name; name it, or leave it out (an index?)")
        if name in header[: i - 1]:
            raise ValueError(f"two columns are called '{name}'; rename one")
    for row in rows:
        if row and len(row) != len(header):
            said = f"line {rows.line_num} has {len(row)} fields, the header has {len(header)}"
            raise ValueError(said)


def _numbers(words: np.ndarray) -> np.ndarray | None:
    """Labels as numbers; None if one is text, such as 1_000, which Python reads as a number."""
    try:
        return None if np.char.find(words, "_").max(initial=-1) >= 0 else words.astype(float)
    except ValueError:
        return None


def measured(made: Predictions) -> "pd.DataFrame":
    """Return :data:`MEASURED` of every model, float64 from 0 to 10^12; 0 where not given."""
    import pandas as pd

    found: dict[str, Any] = {}
    for name in MEASURED:
        given = made.models.get(name, pd.Series(0.0, made.models.index))
        values = numbers(given)
        for value in given[~values.between(0, MOST)].iloc[:1]:
            raise UserError(
                f"{MINIMAL}: '{name}' is not {NUMBER} in every row: "
                f"'{made.folder}' has {'none' if pd.isna(value) else repr(value)}"
            )
        found[name] = values
    return pd.DataFrame(found)


def numbers(values: "pd.Series") -> "pd.Series":
    """Return values as float64, with NaN for values that are not numbers."""
    return values.map(_number).astype(float)


def _number(value: Any) -> float:
    try:
        odd = isinstance(value, (bool, np.bool_)) or "_" in str(value)
        return math.nan if odd else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
