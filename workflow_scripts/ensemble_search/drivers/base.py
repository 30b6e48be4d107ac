"""Base of all drivers. It runs in the library's environment: import only the standard library."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar


class Driver(ABC):
    """Base of all drivers, each of which lets ``optimizer: ask-tell`` use another library.

    A driver has its own file, ``drivers/<library>.py``, with one public subclass that imports the
    library inside its methods. It is stateless: every suggestion is computed from all evaluations,
    so that a search can be resumed at any point. Anything that it caches must not affect
    suggestions.
    """

    #: The library is installed in ``.venv-<environment>`` next to the Snakefile. `make peers`
    #: creates these environments for built-in drivers; users create those for their own drivers.
    #: Default: None, the workflow's environment.
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
            ``lower``, ``upper`` and ``log``; ``default``; and ``when``, None or the name of another
            hyperparameter and a list of its values for which this one is active. Also
            ``forbidden``, a list of dictionaries from names to values: no configuration may contain
            all values of one dictionary.
        evaluations
            At least one: values of the active hyperparameters by name, and the loss to minimise. A
            failed evaluation has the largest loss of a success, a pending one the median.
        seed
            Seed of this suggestion, in [0, 2^31). The same arguments must give the same suggestion.

        Returns
        -------
        values
            Values of the active hyperparameters by name.
        """


def active(hyperparameter: dict[str, Any], values: dict[str, Any]) -> bool:
    """Whether a hyperparameter is active, given the values of earlier ones."""
    when = hyperparameter["when"]
    return when is None or values.get(when[0]) in when[1]


def legal(space: dict[str, Any], values: dict[str, Any]) -> bool:
    """Whether the values match no forbidden clause of the space."""
    return not any(
        all(values.get(name) == value for name, value in clause.items())
        for clause in space["forbidden"]
    )


def plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number."""
    return value.item() if hasattr(value, "item") else value
