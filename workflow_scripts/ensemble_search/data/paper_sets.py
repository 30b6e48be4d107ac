"""The data sets of the DivBO paper (Table 5): their OpenML ids and printed sizes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ensemble_search.runtime.errors import UserError

if TYPE_CHECKING:
    from ensemble_search.data.sources import Raw


@dataclass(frozen=True)
class PaperSet:
    """A row of the table: name and sizes as printed (features without the target).

    ``slack`` is the allowed difference from OpenML's number of rows.
    """

    name: str
    rows: int
    features: int
    classes: int
    slack: int = 0


#: Data sets by OpenML id.
TABLE_5 = {
    43900: PaperSet("amazon_employee", 32769, 9, 2),  # printed "amazone_employee"
    833: PaperSet("bank32nh", 8192, 32, 2),
    761: PaperSet("cpu_act", 8192, 21, 2),
    735: PaperSet("cpu_small", 8192, 12, 2),
    1471: PaperSet("eeg", 14980, 14, 2),
    846: PaperSet("elevators", 16599, 18, 2),
    843: PaperSet("house_8L", 22784, 8, 2),
    722: PaperSet("pol", 15000, 48, 2),
    871: PaperSet("pollen", 3848, 5, 2),
    752: PaperSet("puma32H", 8192, 32, 2),
    772: PaperSet("quake", 2178, 3, 2),
    182: PaperSet("satimage", 6430, 36, 6),
    44: PaperSet("spambase", 4600, 57, 2, slack=1),  # OpenML has 4601 rows
    847: PaperSet("wind", 6574, 14, 2),
    727: PaperSet("2dplanes", 40768, 10, 2),
}
IDS = {known.name: number for number, known in TABLE_5.items()}


def check(number: int, raw: "Raw") -> None:
    """Raise UserError if a data set of the paper has another size than that printed there.

    ``raw`` is as fetched, before a study's ``columns`` apply. Columns that OpenML does not mark as
    features do not count.
    """
    known = TABLE_5.get(number)
    if known is None:
        return
    rows = len(raw.frame)
    features = raw.frame.shape[1] - 1 - len(raw.ignored)
    classes = raw.frame[raw.target].nunique()
    same = (features, classes) == (known.features, known.classes)
    if same and abs(rows - known.rows) <= known.slack:
        return
    raise UserError(
        f"OpenML data set {number} ('{raw.name}'): has {_size(rows, features, classes)}; "
        f"{known.name} of the DivBO paper (Table 5) has "
        f"{_size(known.rows, known.features, known.classes)}; correct the id, 'openml.server' or "
        f"'openml.cache', or pin 'md5: {raw.md5}' to take it as it is"
    )


def _size(rows: int, features: int, classes: int) -> str:
    return f"{rows} rows, {features} features and {classes} classes"
