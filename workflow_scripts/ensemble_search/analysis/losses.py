"""Names and formats of losses by the study's metric."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ensemble_search.runtime import plugins
from ensemble_search.runtime.names import CLASSIFICATION


@dataclass(frozen=True)
class Losses:
    """Title, unit and digits of a metric's losses.

    Shares are shown in percent with two digits and their differences in percentage points, other
    losses as plain numbers with four digits.
    """

    metric: str = "error"  #: name of the metric in the study
    title: str = "error"  #: display name of the metric
    percent: bool = True  #: whether the losses are shares
    worst: float = 1.0  #: loss of a run that never had a model
    task: str = CLASSIFICATION  #: ``classification`` or ``regression``

    @property
    def is_error(self) -> bool:
        """Whether the loss is the share of wrong labels, as in the DivBO paper."""
        return self.metric == "error"

    @property
    def bounded(self) -> bool:
        """Whether no loss exceeds ``worst``."""
        return self.task == CLASSIFICATION

    @property
    def most(self) -> float:
        """The largest possible difference between two losses: 1 for shares, else unlimited."""
        return 1.0 if self.percent else np.inf

    def with_failures(self, values: pd.Series, datasets: pd.Index | pd.Series) -> pd.Series:
        """Fill in losses of runs that never had a model: worse than those of runs that had one.

        ``values`` are losses, NaN without a model; ``datasets`` has the data set of each.
        """
        if self.bounded:
            return values.fillna(self.worst)
        most = 1.01 * values.groupby(datasets, observed=True).transform("max")
        return values.fillna(most.clip(lower=self.worst)).fillna(self.worst)

    @property
    def plural(self) -> str:
        """The plural of the title: ``errors``, but ``log loss``."""
        return f"{self.title}s" if self.title.endswith("error") else self.title

    @property
    def scale(self) -> int:
        """Factor by which losses are multiplied for display."""
        return 100 if self.percent else 1

    @property
    def digits(self) -> int:
        """Digits after the decimal point."""
        return 2 if self.percent else 4

    @property
    def in_percent(self) -> str:
        """Suffix of a caption: `` in percent``, or empty."""
        return " in percent" if self.percent else ""

    @property
    def in_points(self) -> str:
        """Suffix of a phrase about differences: `` in percentage points``, or empty."""
        return " in percentage points" if self.percent else ""

    @property
    def of_failure(self) -> str:
        """Loss assigned to a run that never had a model: ``an error of 100 %``."""
        article = "an" if self.title[0] in "aeiou" else "a"
        worst = self._with(f"{article} {self.title} of {self.scale * self.worst:.4g}", " %")
        return worst if self.bounded else f"{worst}, or worse than all models on their data set"

    @property
    def unit(self) -> str:
        """Sentence that states the unit of losses; empty for shares."""
        if self.task == CLASSIFICATION or self.metric == "r2":
            return ""
        end = "the unit is their standard deviation."
        if self.metric == "squared-error":
            end = "predicting their mean has a squared error of about 1."
        return f" Targets are standardised by the training rows, so that {end}"

    def fill(self, text: str) -> str:
        """Replace ``{loss}`` by the title and ``{losses}`` by its plural."""
        return text.replace("{loss}", self.title).replace("{losses}", self.plural)

    def heading(self, text: str, unit: str = "%") -> str:
        """Name a column or an axis: ``test error, %``, but ``test log loss``."""
        return self._with(text, f", {unit}")

    def value(self, loss: float) -> str:
        """Format a loss without its unit: ``12.34``, or a dash for NaN."""
        return self._number(loss) if np.isfinite(loss) else "–"

    def spread(self, mean: float, std: float) -> str:
        """Format ``12.34 ± 0.21``, or only the mean if the deviation is NaN."""
        return self.value(mean) + (f" ± {self._number(std)}" if np.isfinite(std) else "")

    def text(self, loss: float) -> str:
        """Format a loss within a sentence: ``12.34 %``, or a dash for NaN."""
        return self._with(self._number(loss), " %") if np.isfinite(loss) else "–"

    def size(self, difference: float, unit: str = "percentage points") -> str:
        """Format a difference without its sign: ``0.21 percentage points``."""
        return self._with(self._number(abs(difference)), f" {unit}")

    def signed(self, difference: float) -> str:
        """Format a difference with its sign but without its unit: ``+0.21``, a dash for NaN."""
        if not np.isfinite(difference):
            return "–"
        return f"{self.scale * difference:+z.{self.digits}f}".replace("-", "−")

    def change(self, difference: float) -> str:
        """Format a difference with its sign within a sentence: ``+0.21 points``."""
        return self._with(self.signed(difference), " points")

    def _number(self, loss: float) -> str:
        return f"{self.scale * loss:.{self.digits}f}"

    def _with(self, text: str, unit: str) -> str:
        return text + unit if self.percent else text


ERROR = Losses()


def of(study: Mapping[str, Any]) -> Losses:
    """Return the losses of a study, by its key ``metric`` (default: ``error``)."""
    name = study.get("metric", "error")
    metric = plugins.load("metrics", name)
    return Losses(name, metric.title, metric.percent, metric.worst, metric.task)
