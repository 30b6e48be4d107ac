"""Base of all drivers. It runs in the environment of the library: no import but Python's own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar


class Driver(ABC):
    """Base of all drivers, each of which lets ``optimizer: ask-tell`` use another library.

    A driver has its own file, ``drivers/<library>.py``, which defines one public subclass
    and imports the library inside its methods. It is stateless: every suggestion is made from all
    evaluations, so that a search can be resumed anywhere. Whatever it keeps must not matter.

    Attributes
    ----------
    environment
        The library is in ``.venv-<environment>`` beside the Snakefile: of a built-in driver,
        `make peers` makes it, of another its user. Default: None, the environment of the workflow.
    """

    environment: ClassVar[str | None] = None

    @abstractmethod
    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """Suggest the next configuration.

        Parameters
        ----------
        space
            ``hyperparameters``, a list of dictionaries, parents first: ``name``; ``kind``, one of
            ``categorical``, ``ordinal``, ``integer`` and ``float``; ``choices``, a list, or else
            ``lower``, ``upper`` and ``log``; ``default``; and ``when``, None, or the name of
            another hyperparameter and a list of those of its values under which this one is active.
            And ``forbidden``, a list of dictionaries from names to values: no configuration may
            have all values of one.
        evaluations
            At least one: values of the active hyperparameters by name, and the loss to minimise. A
            failed evaluation has the largest loss of a success, one that still runs the median.
        seed
            Of this suggestion, in [0, 2^31). The same arguments must give the same suggestion.

        Returns
        -------
        values
            Values of the active hyperparameters by name.
        """


def active(hyperparameter: dict[str, Any], values: dict[str, Any]) -> bool:
    """Whether a hyperparameter is active, given the values of those before it."""
    when = hyperparameter["when"]
    return when is None or values.get(when[0]) in when[1]


def legal(space: dict[str, Any], values: dict[str, Any]) -> bool:
    """Whether no forbidden clause of the space holds."""
    return not any(
        all(values.get(name) == value for name, value in clause.items())
        for clause in space["forbidden"]
    )


def plain(value: Any) -> Any:
    """Turn a number of NumPy into one of Python."""
    return value.item() if hasattr(value, "item") else value
