"""`deliver`: the ensemble of a method as a folder that predicts new rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ensemble_search.runtime.names import CLASSIFICATION
from ensemble_search.study.sections.base import Section, repeated, unknown
from ensemble_search.study.sections.ensembles import refits

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class DeliveryLimits(Section):
    """Upper limits on the cost of the delivered ensemble; none by default."""

    members: int | None = Field(None, ge=1, description="largest number of pipelines")
    predict_ms_per_row: float | None = Field(
        None,
        gt=0,
        description="largest time to predict a row, in milliseconds: the time measured in the "
        "search, divided by the number of its validation and test rows, or by 2000 if they are "
        "fewer",
    )
    size_mb: float | None = Field(
        None, gt=0, description="largest size of all pipelines on disk, in megabytes"
    )


class Deliver(Section):
    """An ensemble to deliver for every data set: docs/deliver.md."""

    method: str = Field(description="one of `methods`")
    datasets: list[str] | None = Field(
        None, min_length=1, description="data sets to deliver an ensemble for (default: all)"
    )
    repeat: int = Field(0, ge=0, description="repeat to deliver, from 0")
    iteration: int | None = Field(
        None, ge=1, description="number of evaluations to use, besides given ones (default: all)"
    )
    rows: Literal["train", "train+validation", "all"] = Field(
        "all",
        description="rows to refit its pipelines on: `train`, `train+validation` or `all`",
    )
    test: str | None = Field(
        None,
        description="file with further test rows for the card, with the columns of the table; "
        "looked for where the `file` of a data set is",
    )
    limits: DeliveryLimits = DeliveryLimits()
    calibrate: bool = Field(
        False, description="scale probabilities by a temperature fitted on the validation rows"
    )
    onnx: bool = Field(
        False,
        description="also write every pipeline as pipeline.onnx; members without one are left out",
    )


def problems(study: "Study") -> Iterator[str]:
    """Check that the ensemble exists and can be delivered."""
    deliver = study.deliver
    if deliver is None:
        return
    if deliver.method not in study.methods:
        yield from unknown("deliver.method", [deliver.method], study, "methods")
        return
    yield from unknown("deliver.datasets", deliver.datasets or (), study, "datasets")
    yield from repeated("deliver.datasets", deliver.datasets or ())
    if deliver.test and len(deliver.datasets or study.datasets) > 1:
        yield "deliver.test: it is for one data set; name that in deliver.datasets"
    if deliver.repeat >= study.repeats:
        yield f"deliver.repeat: {deliver.repeat} is not among the repeats, 0 to {study.repeats - 1}"
    most = study.budget.evaluations
    if deliver.iteration and most and deliver.iteration > most:
        yield f"deliver.iteration: {deliver.iteration} is more than budget.evaluations, {most}"
    ensemble = study.methods[deliver.method].ensemble
    if refits(study, ensemble):
        kind = study.ensembles[ensemble]["type"]
        yield (
            f"deliver.method: '{deliver.method}' has the ensemble '{ensemble}' of type '{kind}', "
            "which is more than pipelines with weights and cannot be delivered; name a method with "
            "another, such as selection"
        )
    if deliver.calibrate and study.task not in (None, CLASSIFICATION):
        yield "deliver.calibrate: it is for class probabilities; remove it from a regression"
