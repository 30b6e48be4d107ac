"""Shares of rows as people write them: ``1/27`` or ``0.5``."""

from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

#: Tolerance for a sum of shares below a number of fits, to allow for rounding, as in three times
#: 1/3. Every real difference is larger.
TOLERANCE = 1e-6
#: Largest denominator of a share that is written as a fraction.
DENOMINATOR = 10_000


def read(value: Any) -> Any:
    """Convert a share written as a fraction to a float; return other values unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return float(Fraction(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError("must be a number or a fraction such as 1/3") from None


def name(share: float) -> str:
    """Write a share, as a fraction if that is the same number."""
    fraction = Fraction(share).limit_denominator(DENOMINATOR)
    return str(fraction) if float(fraction) == share else repr(share)


def names(shares: Any) -> str:
    """Write several shares, separated by commas."""
    return ", ".join(map(name, shares))


def distinct(shares: list[float]) -> list[float]:
    """Return the shares if none occurs twice."""
    if len(set(shares)) < len(shares):
        raise ValueError("names a share twice; keep one")
    return shares


#: A share of rows in a study file.
Share = Annotated[float, BeforeValidator(read), Field(ge=0.001, le=1)]
