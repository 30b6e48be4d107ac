"""A delivered ensemble, with the interface of scikit-learn's estimators.

scikit-learn itself is imported only by its own tools and by members that use nearest neighbours.
"""

import csv
import importlib.metadata
import math
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from numbers import Real
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ensemble_search.data.cells import FROM_BOOLEANS, FROM_NUMBERS, is_missing, word
from ensemble_search.data.preparation import Preparation
from ensemble_search.metrics.base import predicted_labels
from ensemble_search.predictor import stored
from ensemble_search.predictor.rows import matching, safe
from ensemble_search.predictor.stored import REMEDY
from ensemble_search.problems.classification import Classification
from ensemble_search.problems.combination import COMBINATIONS
from ensemble_search.problems.regression import Regression
from ensemble_search.runtime.errors import UserError, one_line
from ensemble_search.runtime.files import Unusable, read_json, sha256
from ensemble_search.runtime.names import CLASSIFICATION, REGRESSION
from ensemble_search.runtime.plugins import similar

MANIFEST, PREPARATION, PROGRAM = "ensemble.json", "preparation.json", "predict.py"
#: Importance of columns, measured for the card.
IMPORTANCE = "figures/importance.csv"
#: Maximum bytes of a manifest or of a preparation; lists take 30 times as many in memory.
LONGEST = 2**24
MOST_LIBRARIES = 20
#: Maximum bytes of all files in a folder: their checksums take seconds per GiB.
LARGEST = 2**33
#: Maximum bytes of a component of a path.
LONGEST_NAME = 255
#: Maximum characters of a path.
LONGEST_PATH = 1000
#: Maximum characters of all classes, each counted as long as the longest: NumPy stores labels so.
MOST_LETTERS = 2**22
#: Smallest and largest temperature; see ``delivery.calibration``.
TEMPERATURES = 0.05, 20.0
#: Maximum number of validation residuals, from which intervals are computed.
MOST_RESIDUALS = 10_000
#: How labels are read from their text, and their type, if they are not text themselves.
LABELS: dict[str, tuple[Callable[[str], Any], type]] = {
    FROM_NUMBERS: (int, np.int64),
    FROM_BOOLEANS: ({"False": False, "True": True}.__getitem__, np.bool_),
}
PROBLEMS = {CLASSIFICATION: Classification(), REGRESSION: Regression()}


class InvalidRows(UserError, ValueError):
    """Rows, or an argument, that the ensemble cannot use."""


def load_ensemble(
    folder: str | Path, checksum: str | None = None
) -> "DeliveredClassifier | DeliveredRegressor":
    """Load a delivered ensemble; nothing in the folder is executed.

    Parameters
    ----------
    folder
        A folder written by the rule ``deliver``, or a copy of it.
    checksum
        SHA-256 of its ``ensemble.json``, the last line of the delivery's log. With it, the
        folder is verified to be the delivered one; without it, only to be complete and unchanged.

    Returns
    -------
    estimator
        A fitted estimator. It cannot be fitted again.

    Raises
    ------
    UserError
        In one line, if a file is missing, was changed or does not belong to a delivered ensemble.

    Warns
    -----
    UserWarning
        If the version of a library differs from the one that made the ensemble.
    """
    folder = Path(folder)
    if (folder / MANIFEST).is_symlink():
        raise UserError(f"'{folder / MANIFEST}' is a link; {REMEDY}")
    if (folder / MANIFEST).exists() and not (folder / MANIFEST).is_file():
        raise UserError(f"'{folder / MANIFEST}' is not a file; {REMEDY}")
    if not (folder / MANIFEST).is_file():
        raise UserError(f"'{folder}' is not a delivered ensemble: it has no file '{MANIFEST}'")
    _check_length(folder / MANIFEST)
    if checksum is not None and (found := sha256(folder / MANIFEST)) != checksum.lower():
        raise UserError(
            f"'{folder / MANIFEST}' has the checksum {found}, not {checksum}: "
            "it is another ensemble, or was changed"
        )
    manifest = _json(folder / MANIFEST)
    try:
        model = _load(folder, manifest)
    except Unusable as error:
        raise _told(error, manifest) from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise _told(Unusable(folder / MANIFEST, reason, REMEDY), manifest) from None
    model.folder = folder.resolve()
    return model


def _load(folder: Path, manifest: Mapping[str, Any]) -> "DeliveredClassifier | DeliveredRegressor":
    if "columns" not in manifest:
        raise UserError(
            f"'{folder / MANIFEST}' lists no 'columns': an earlier version of this project has "
            f"delivered it; predict with the folder's own '{folder / PROGRAM}', or deliver it again"
        )
    kinds: dict[str, type[DeliveredClassifier | DeliveredRegressor]] = {
        CLASSIFICATION: DeliveredClassifier,
        REGRESSION: DeliveredRegressor,
    }
    kind = kinds[manifest["task"]]
    listed, weights = manifest["members"], []
    needed = [PREPARATION]
    for member in listed:
        weights.append(_number(member["weight"], "a weight", 0.0, 1.0))
        if type(number := member["evaluation"]) is not int or number < 1:
            raise TypeError("a member has no number")
        if member["folder"] != f"members/{number}":
            raise ValueError(f"the folder of the member {number} is not 'members/{number}'")
        needed += [f"{member['folder']}/{name}" for name in (stored.MEMBER, stored.ARRAYS)]
    if not weights or min(weights) <= 0 or abs(sum(weights) - 1) > 1e-9:
        raise ValueError("the weights of the members are not positive with sum 1")
    if len({member["evaluation"] for member in listed}) < len(listed):
        raise ValueError("two members are of the same evaluation")
    if manifest["combination"] not in COMBINATIONS:
        raise ValueError(f"the combination is none of {', '.join(COMBINATIONS)}")
    if manifest["combination"] == "votes" and kind is DeliveredRegressor:
        raise ValueError("a regression has no votes")
    if not isinstance(manifest["target"], str):
        raise TypeError("the target is not text")
    _check_files(folder, manifest["files"], needed)
    _check_versions(manifest["versions"])
    described = _json(folder / PREPARATION)
    preparation = Preparation.from_json(described)
    if preparation.outline() != manifest["columns"] or described["target"] != manifest["target"]:
        raise ValueError(f"target or columns are not those of '{PREPARATION}'")
    if manifest["target"] in preparation.names:
        raise ValueError("the target is one of the columns to predict from")
    classes = manifest["classes"] if kind is DeliveredClassifier else None
    size = None if classes is None else len(classes)
    n_features = len(preparation.features)
    loaded = [stored.load(folder / member["folder"], n_features, size) for member in listed]
    return kind(manifest, preparation, loaded, weights)


def _json(path: Path) -> dict[str, Any]:
    _check_length(path)
    return read_json(path, REMEDY)


def _check_length(path: Path) -> None:
    if path.stat().st_size > LONGEST:
        raise Unusable(path, f"it has more than {LONGEST >> 20} MiB", REMEDY)


def _number(value: Any, name: str, low: float, high: float) -> float:
    """Check a number in the manifest; NaN is outside every range."""
    if type(value) not in (int, float) or not low <= value <= high:
        raise ValueError(f"{name} is not a number from {low:g} to {high:g}")
    return float(value)


def _told(error: Unusable, manifest: Mapping[str, Any]) -> UserError:
    """Name differing library versions first: they are a likelier cause than damage."""
    try:
        others = list(_other_versions(manifest["versions"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return error
    return UserError(f"{'; '.join(others)}. {error}") if others else error


def _inside(name: Any) -> PurePosixPath:
    """Check that a file name stays inside its folder."""
    path = PurePosixPath(name)
    odd = "\\" in name or "\0" in name or name != path.as_posix()
    if path.is_absolute() or ".." in path.parts or odd:
        raise UserError(f"the ensemble names the file '{name}' outside of its folder: it is forged")
    sizes = [len(part.encode(errors="replace")) for part in path.parts]
    if len(name) > LONGEST_PATH or max(sizes, default=0) > LONGEST_NAME:
        raise UserError(f"the ensemble names the file '{name}': it is forged, no name is so long")
    return path


def _check_files(folder: Path, checksums: Mapping[str, str], needed: Sequence[str]) -> None:
    """Check that all files exist, and that those to be read are unchanged."""
    size = 0
    for name in sorted({*needed, *checksums}):
        place = _inside(name)
        path = folder / place
        for part in (place, *place.parents):
            if (folder / part).is_symlink() and part.parts:
                raise UserError(f"'{folder / part}' is a link; {REMEDY}")
        if name not in checksums:
            raise UserError(f"'{path}' is not among the files that were delivered; {REMEDY}")
        if not path.is_file():
            said = "is not a file" if path.exists() else "is missing"
            raise UserError(f"'{path}' {said}; {REMEDY}")
        size += path.stat().st_size
        if size > LARGEST:
            raise UserError(f"the files of '{folder}' have more than {LARGEST >> 30} GiB")
        if sha256(path) != checksums[name]:
            raise UserError(f"'{path}' was changed after the delivery; {REMEDY}")


def _check_versions(versions: Mapping[str, str]) -> None:
    for said in _other_versions(versions):
        warnings.warn(said, stacklevel=4)


def _other_versions(versions: Mapping[str, str]) -> Iterator[str]:
    """Yield the libraries whose version differs from the one that made the ensemble."""
    if len(versions) > MOST_LIBRARIES:
        raise ValueError(f"it names more than {MOST_LIBRARIES} libraries")
    for library, version in versions.items():
        try:
            here = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            raise UserError(
                f"the ensemble needs {library} {version}, which is not installed; its "
                "requirements.txt lists what to install"
            ) from None
        if here != version:
            yield one_line(
                f"the ensemble was made with {library} {version}, this is {here}: predictions may "
                "differ in the last digits; pip install -r requirements.txt installs its versions"
            )


class _Delivered:
    """Base of the delivered classifiers and regressors.

    Attributes
    ----------
    feature_names_in_
        Columns that it needs, str, of shape (n_features_in_,): the required order of columns
        without names.
    members_
        The fitted pipelines (``StoredPipeline``), in the order of ``weights_``.
    weights_
        Their weights, float64, with sum 1.
    rows_
        How many rows to predict at a time so that intermediate arrays take at most about 1 GB.
    notes_
        Unusual properties of the rows of the last prediction, one line each.
    folder
        The folder that it was loaded from.
    """

    folder: Path
    _estimator_type: str
    _n_outputs: int

    def __init__(
        self,
        manifest: Mapping[str, Any],
        preparation: Preparation,
        pipelines: Sequence[stored.StoredPipeline],
        weights: Sequence[float],
    ):
        self.manifest = manifest
        self.preparation = preparation
        self.pipelines = pipelines
        self.weights = weights
        self.members_ = list(pipelines)
        self.weights_ = np.array(weights)
        self.feature_names_in_ = np.array(preparation.names, dtype=object)
        self.n_features_in_ = len(preparation.names)
        entries = max(len(preparation.features), len(pipelines) * len(manifest.get("classes", "1")))
        self.rows_ = max(1, stored.ENTRIES // entries)
        self.notes_: list[str] = []

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self):
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.members_)} members>"

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        tags: dict[str, Any] = {f"{kind}_tags": None for kind in ("classifier", "regressor")}
        made = {"classifier": ClassifierTags, "regressor": RegressorTags}[self._estimator_type]
        tags[f"{self._estimator_type}_tags"] = made()
        read = InputTags(allow_nan=True, string=True, categorical=True)
        target = TargetTags(required=True)
        return Tags(self._estimator_type, target, transformer_tags=None, input_tags=read, **tags)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return its settings: none, because it cannot be fitted again."""
        return {}

    def set_params(self, **params: Any):
        """Raise if any settings are given; see :meth:`get_params`.

        Raises
        ------
        ValueError
            If any are given.
        """
        if params:
            raise ValueError(f"a delivered ensemble has no setting '{min(params)}'")
        return self

    def fit(self, X, y=None):
        """Raise: to change the ensemble, deliver it again.

        Raises
        ------
        UserError
            Always.
        """
        raise UserError("a delivered ensemble cannot be fitted again; deliver a new one")

    def save(self, path: str | Path) -> Path:
        """Copy its folder, with card and program, to a new path; return that path.

        Raises
        ------
        UserError
            If the path exists, or the folder was changed since it was loaded.
        """
        if not isinstance(path, (str, Path)):
            raise InvalidRows(f"{path!r} is not a path; name a new folder")
        path = Path(path).resolve()
        if path.exists():
            raise InvalidRows(f"'{path}' exists; name another folder")
        shutil.copytree(self.folder, path, ignore=shutil.ignore_patterns("__pycache__"))
        load_ensemble(path)
        return path

    def explain(self) -> list[dict[str, Any]]:
        """Return the importance of columns as in the card: on test rows.

        Returns
        -------
        rows
            By decreasing importance: ``column``, ``rise`` of the loss when its values are shuffled,
            in the card's unit, and ``spread``, the standard deviation over shuffles. Of more than
            100 columns, only those most correlated with the predictions.

        Raises
        ------
        UserError
            If the folder lacks this file: an earlier version of this project made it.
        """
        file = self.folder / IMPORTANCE
        if not file.is_file():
            raise UserError(f"'{file}' is missing; deliver the ensemble again")
        names = {safe(name): name for name in self.preparation.names}
        try:
            with file.open(encoding="utf-8", newline="") as stream:
                return [
                    {
                        "column": names[row["column"]],
                        "rise": float(row["rise"]),
                        "spread": float(row["spread"]),
                    }
                    for row in csv.DictReader(stream)
                ]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise Unusable(file, f"{type(error).__name__}: {error}", REMEDY) from None

    def prepare(self, X: Any) -> np.ndarray:
        """Turn raw rows into the features of the members.

        Parameters
        ----------
        X
            Rows as in the data of the search: a pandas frame, a mapping of columns by name, or a
            two-dimensional array with the columns :attr:`feature_names_in_` in order. Other columns
            are ignored. Values are text as in a CSV file, numbers, booleans or dates.

        Returns
        -------
        features
            float64, of shape (n_samples, p).

        Raises
        ------
        InvalidRows
            A ValueError, if a column is missing, occurs twice or is not a list of values, or there
            are too few or too many columns without names.
        """
        self.notes_ = []
        columns = self._columns(X)
        missing = [name for name in self.preparation.names if name not in columns]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            others = [str(name) for name in columns if name not in self.preparation.names]
            near = similar(missing[0], others)
            more += f" (did you mean '{near}'?)" if near else ""
            raise InvalidRows(
                f"there is no column '{missing[0]}'{more}; the ensemble needs "
                f"{', '.join(map(str, self.preparation.names))}"
            )
        try:
            features, self.notes_ = self.preparation.transform(columns)
        except UserError as error:
            raise InvalidRows(*error.problems) from None
        return features

    def _columns(self, X: Any) -> Mapping[str, Any]:
        if hasattr(X, "columns") and hasattr(X, "to_numpy"):
            counts = Counter(map(str, X.columns))
            for name in self.preparation.names:
                if counts[name] > 1:
                    raise InvalidRows(f"there are two columns called '{name}'; rename one")
            given = {str(name): X.iloc[:, i].to_numpy() for i, name in enumerate(X.columns)}
            found = matching(self.preparation.names, [*given])
            return given | {name: given[own] for name, own in found.items()}
        if isinstance(X, Mapping):
            for name in self.preparation.names:
                if name in X and (isinstance(X[name], str) or not hasattr(X[name], "__len__")):
                    raise InvalidRows(f"column '{name}' is one value; give a list of values")
                if isinstance(X.get(name), (Set, Mapping)):  # unordered, or values are elsewhere
                    kind = type(X[name]).__name__
                    raise InvalidRows(f"column '{name}' is a {kind}; give a list of values")
                if getattr(X.get(name), "ndim", 1) != 1:
                    raise InvalidRows(
                        f"column '{name}' has {X[name].ndim} dimensions; give a list of values"
                    )
            return X
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        name = type(self).__name__
        if array.dtype.kind == "c":
            raise InvalidRows("Complex data not supported")
        if array.ndim != 2:
            raise InvalidRows(
                f"Expected 2D array, got an array with {array.ndim} dimensions instead. "
                "Reshape your data either using array.reshape(-1, 1) or array.reshape(1, -1)."
            )
        if array.shape[1] != self.n_features_in_:
            raise InvalidRows(
                f"X has {array.shape[1]} features, but {name} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return dict(zip(self.preparation.names, array.T, strict=True))

    def member_predictions(self, features: np.ndarray) -> list[np.ndarray]:
        """Return every member's predictions for prepared features, in the stored form.

        float32, of shape (n_samples, n_columns); see ``Problem``.
        """
        problem, outputs = PROBLEMS[self.manifest["task"]], self._n_outputs
        if not len(features):
            return [np.empty((0, problem.columns(outputs)), np.float32) for _ in self.members_]
        predictions = []
        for member, listed in zip(self.members_, self.manifest["members"], strict=True):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    predictions.append(problem.predict(member, features.copy(), outputs))
                except ValueError as error:
                    raise InvalidRows(
                        f"the member of evaluation {listed['evaluation']} cannot predict these "
                        f"rows, perhaps because of a number far from the training rows: {error}"
                    ) from error
        return [problem.compress(p) for p in predictions]

    def combine(self, predictions: Sequence[np.ndarray]) -> np.ndarray:
        """Combine the members' predictions; float64, of shape (n_samples, n_columns)."""
        return COMBINATIONS[self.manifest["combination"]](predictions, self.weights_)

    def _combined(self, X: Any) -> np.ndarray:
        return self.combine(self.member_predictions(self.prepare(X)))


class DeliveredClassifier(_Delivered):
    """A delivered ensemble of classifiers; made by :func:`load_ensemble`.

    Attributes
    ----------
    classes_
        Labels, of shape (n_classes,): int64 or bool if the target's values are, else str.
    """

    _estimator_type = "classifier"

    def __init__(self, manifest, preparation, pipelines, weights):
        super().__init__(manifest, preparation, pipelines, weights)
        labels = manifest["classes"]
        self._temperature = _number(manifest["temperature"], "the temperature", *TEMPERATURES)
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise TypeError("the classes are not a list of text")
        longest = max(map(len, labels), default=0)
        if len(labels) * longest > MOST_LETTERS:
            raise ValueError("the classes have too many letters")
        self.rows_ = min(self.rows_, max(1, stored.ENTRIES // max(1, longest)))
        self.classes_ = np.array(labels, dtype=str)
        if (read := manifest.get("labels")) is not None:
            of_text, dtype = LABELS[read]
            self.classes_ = np.array([of_text(label) for label in labels], dtype)
        self._n_outputs = len(labels)
        seen = max(int(np.max(member.classes_)) for member in pipelines)
        # NumPy drops trailing null characters; 01 is an integer written otherwise.
        whole = _texts(self.classes_).tolist() == labels and len(set(labels)) == len(labels)
        if not whole or self._n_outputs != seen + 1:
            raise ValueError("the classes are not those of the members")

    def predict_both(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return labels and probabilities, as :meth:`predict` and :meth:`predict_proba` do."""
        combined = self._combined(X)
        return self.classes_[predicted_labels(combined)], self.probabilities(combined)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, float64, of shape (n_samples, n_classes); rows sum to 1."""
        return self.probabilities(self._combined(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable labels, as in ``classes_``, of shape (n_samples,)."""
        return self.classes_[predicted_labels(self._combined(X))]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows that are predicted correctly.

        ``y`` has labels as in the data, or as text, of shape (n_samples,). UserError if one is
        missing, or all are unknown.
        """
        found, known = _texts(self.predict(X)), _texts(self.classes_)
        given = _labels(y, len(found)).tolist()
        words = {*known.tolist()}
        absent = sum(is_missing(g) and not (isinstance(g, str) and g in words) for g in given)
        if absent:
            raise InvalidRows(f"y has no label in {absent} of {len(given)} rows: leave them out")
        labels = np.array([word(label) for label in given], dtype=str)
        if not np.isin(labels, known).any():
            some = ", ".join(f"'{label}'" for label in known[:3])
            raise InvalidRows(f"y has no class of the ensemble, such as {some}: '{labels[0]}'")
        return float(np.mean(found == labels))

    def probabilities(self, combined: np.ndarray) -> np.ndarray:
        """Extend combined predictions to all classes, and calibrate them."""
        found = PROBLEMS[CLASSIFICATION].expand(combined)
        return calibrated(found, self._temperature)


def _texts(labels: np.ndarray) -> np.ndarray:
    return np.array([*map(str, labels.tolist())], dtype=str)


class DeliveredRegressor(_Delivered):
    """A delivered ensemble of regressors; made by :func:`load_ensemble`."""

    _estimator_type = "regressor"

    def __init__(self, manifest, preparation, pipelines, weights):
        super().__init__(manifest, preparation, pipelines, weights)
        self._n_outputs = 1
        self._mean = _number(manifest["mean"], "the mean", -1e300, 1e300)
        self._std = _number(manifest["std"], "the standard deviation", 1e-300, 1e300)
        # Sorted; earlier versions of this project did not store them.
        listed = manifest.get("residuals", [])
        if not isinstance(listed, list) or len(listed) > MOST_RESIDUALS:
            raise ValueError(f"the residuals are not a list of at most {MOST_RESIDUALS}")
        found = [_number(value, "a residual", 0.0, 1e300) for value in listed]
        if found != sorted(found):
            raise ValueError("the residuals are not in order")
        self._residuals = found

    def predict(self, X: Any) -> np.ndarray:
        """Return numbers in the unit of the target, float64, of shape (n_samples,)."""
        with np.errstate(over="ignore"):
            found = self._mean + self._std * self._combined(X)[:, 0]
        if not np.isfinite(found).all():
            raise InvalidRows("the ensemble predicts numbers beyond double precision")
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return R², the coefficient of determination; ``y`` is of shape (n_samples,).

        If all its values are equal, it is 1 for exact predictions and else 0, as in scikit-learn.
        """
        found = self.predict(X)
        y = _labels(y, len(found))
        try:
            y = y.astype(float)
        except (TypeError, ValueError) as error:
            raise InvalidRows(f"y must be numbers: {error}") from None
        if not np.isfinite(y).all():
            raise InvalidRows("y must be finite numbers")
        left, whole = np.sum((y - found) ** 2), np.sum((y - y.mean()) ** 2)
        return float(1 - left / whole) if whole else float(left == 0)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return predictions with an interval that should contain this share of the true values.

        Split conformal prediction (Lei et al., *Distribution-free predictive inference for
        regression*, Journal of the American Statistical Association 2018): the interval is
        symmetric and equally wide for all rows. The card has the measured share on test rows.

        Parameters
        ----------
        X
            Rows; see :meth:`prepare`.
        coverage
            Above 0 and below 1.

        Returns
        -------
        found
            Prediction, lower end and upper end, float64, of shape (n_samples, 3).

        Raises
        ------
        InvalidRows
            If the coverage is not between 0 and 1, or the ensemble has too few residuals for it.
        """
        found, half = self.predict(X), self._std * self.half_width(coverage)
        return np.column_stack([found, found - half, found + half])

    def half_width(self, coverage: float) -> float:
        """Return half the width of an interval, in standard deviations of the target."""
        if not (isinstance(coverage, Real) and 0 < coverage < 1):
            raise InvalidRows(f"the coverage of an interval, {coverage}, is not between 0 and 1")
        n = len(self._residuals)
        place = math.ceil((n + 1) * coverage - 1e-9)
        if place > n:
            least = math.ceil(coverage / (1 - coverage) - 1e-9)
            most = math.floor(1e4 * n / (n + 1)) / 1e4
            raise InvalidRows(
                f"an interval for a share of {coverage:g} needs {least} validation rows (effective "
                f"ones, if they have weights), and this ensemble has {n}; "
                + (f"choose at most {most:g}" if n else "deliver it again")
            )
        return self._residuals[place - 1]


def _labels(y: Any, n_rows: int) -> np.ndarray:
    """Return true labels or numbers of shape (n_rows,): other shapes would be broadcast."""
    y = np.asarray(y)
    if not n_rows:
        raise InvalidRows("there are no rows to score")
    if y.shape != (n_rows,):
        raise InvalidRows(f"y has the shape {y.shape}; {n_rows} rows need {n_rows} values")
    return y


def calibrated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Raise probabilities to 1 / temperature and normalise them (Guo et al., ICML 2017).

    Parameters
    ----------
    probabilities
        Of shape (n_samples, n_classes); rows sum to 1.
    temperature
        1 changes nothing; larger values bring probabilities closer to each other.
    """
    if temperature == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities) / temperature
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
