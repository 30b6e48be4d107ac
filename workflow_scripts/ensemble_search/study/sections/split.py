"""`split`: training, validation and test rows."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ensemble_search.data.rows import check_settings
from ensemble_search.data.subsets import kernel
from ensemble_search.study.sections.base import SEED, Section, mistakes

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: Smallest share of rows: less would leave single rows of most data sets.
SHARE = 0.001


#: A share of the rows, or a number of rows.
Rows = Annotated[float, Field(ge=SHARE, lt=1)] | Annotated[int, Field(ge=10)]


class TrainRows(Section):
    """A part of the training rows: searches get no others."""

    share: float = Field(ge=SHARE, lt=1, description="share of the training rows")
    by: Literal["uniform", "stratified", "k-dpp"] = Field(
        "stratified",
        description="how the rows are drawn: `uniform`; `stratified`, the same share of every "
        "class (`uniform` in a regression); or `k-dpp`, rows that differ from each other",
    )
    kernel: Literal["features", "product"] | None = Field(
        None,
        description="with `k-dpp`, which rows are similar: those with nearby features (`features`, "
        "the default in a regression), or with nearby features and the same label (`product`, the "
        "default in a classification)",
    )

    @model_validator(mode="after")
    def _own_settings(self) -> "TrainRows":
        if self.kernel and self.by != "k-dpp":
            raise ValueError("'kernel' is a setting of by: k-dpp; remove it")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for ``data.subsets.choose``."""
        return self.model_dump(exclude_none=True)


class Split(Section):
    """Stratified split into training, validation and test rows; or test rows and folds."""

    train: Rows | None = Field(
        None, description="share of the rows (default: 0.6), or number of rows, at least 10"
    )
    validation: Rows | None = Field(
        None, description="share of the rows (default: 0.2), or number of rows, at least 10"
    )
    test: float | None = Field(
        None,
        ge=SHARE,
        lt=1,
        description="share of the rows (default: 0.2); with numbers, all other rows are test rows",
    )
    folds: int | None = Field(
        None,
        ge=2,
        le=100,
        description="cross-validation instead of validation rows, with this number of folds: each "
        "evaluation fits one model per fold",
    )
    resample: Literal["never", "per-repeat"] | Annotated[int, Field(ge=1)] = Field(
        "never",
        description="`never`: one split per data set, as in the DivBO paper; `per-repeat`: one "
        "split per repeat; an integer n: n splits, used in turn (repeat r uses split r mod n)",
    )
    seed: int = Field(
        1,
        ge=0,
        le=SEED,
        description="random seed; split r is drawn with `seed` + r",
    )
    train_rows: TrainRows | None = Field(
        None,
        description="fit on a part of the training rows (default: all); with folds, validation "
        "rows are of this part, too",
    )

    @field_validator("train", "validation", mode="before")
    @classmethod
    def _share_or_number(cls, value: Any) -> Any:
        """Reject other values with one line instead of one per type."""
        share = type(value) is float and SHARE <= value < 1
        if value is not None and not share and not (type(value) is int and value >= 10):
            raise ValueError(
                f"must be a share from {SHARE} to below 1, or a number of rows from 10"
            )
        return value

    @field_validator("resample", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        """Reject other values with one line instead of one per type."""
        number = type(value) is int and value >= 1
        if not number and value not in ("never", "per-repeat"):
            raise ValueError("must be 'never' or 'per-repeat', or a number of splits from 1 on")
        return value

    @model_validator(mode="after")
    def _one(self) -> "Split":
        if self.folds and (self.train or self.validation):
            raise ValueError(
                "takes 'folds' or 'train' and 'validation', not both; set the others to null"
            )
        types = {type(self.train), type(self.validation)}
        if int in types:
            if types != {int}:
                raise ValueError("takes shares or numbers of rows of 'train' and 'validation'")
            if self.test is not None:
                raise ValueError(
                    "takes no 'test' beside numbers of rows: all other rows are test rows; remove "
                    "it, or set it to null"
                )
            return self
        defaults = {"test": 0.2} if self.folds else {"train": 0.6, "validation": 0.2, "test": 0.2}
        # The model is frozen, but this one is still being created.
        vars(self).update({k: v for k, v in defaults.items() if getattr(self, k) is None})
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """How the rows are drawn, without the seed; see ``data.rows.check_settings``."""
        parts = self.model_dump(include={"train", "validation", "test", "folds"}, exclude_none=True)
        return {**parts, **({"train_rows": self.train_rows.settings} if self.train_rows else {})}


def drawn(split: Split, name: str, train_rows: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """How the rows of the split ``fixed`` or ``repeat-<r>`` of a data set are drawn.

    ``train_rows`` are the settings of the part of the training rows that is used (default: all).
    """
    seed = split.seed if name == "fixed" else split.seed + int(name.removeprefix("repeat-"))
    return {**split.settings, **({"train_rows": train_rows} if train_rows else {}), "seed": seed}


def split_name(resample: str | int, repeat: int | str) -> str:
    """Folder of the split that a repeat uses, ``fixed`` or ``repeat-<r>``.

    With ``per-repeat``, r is the repeat itself; with a number of splits, the repeat modulo that
    number: with three, repeats 0, 3, 6, ... use ``repeat-0``.
    """
    if resample == "never":
        return "fixed"
    return f"repeat-{int(repeat) % resample if isinstance(resample, int) else repeat}"


def problems(study: "Study") -> Iterator[str]:
    """Check that the shares add up, and that every split is used."""
    yield from mistakes(check_settings, {**study.split.settings, "seed": study.split.seed})
    parts = {"split": study.split.train_rows}
    parts |= {f"datasets.{name}": d.train_rows for name, d in study.datasets.items()}
    for where, part in parts.items():
        if part and study.task:
            yield from (f"{where}.{line}" for line in mistakes(kernel, part.settings, study.task))
    splits = study.split.resample
    if isinstance(splits, int) and splits > study.repeats:
        yield (
            f"split.resample: {splits} splits are more than there are repeats, {study.repeats}; "
            "lower it, or raise repeats"
        )
