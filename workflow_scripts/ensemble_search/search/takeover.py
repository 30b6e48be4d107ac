"""Reuse of evaluations from journals of earlier versions of a search."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Unusable, read_json
from ensemble_search.runtime.schema import fitting
from ensemble_search.search.journal import Journal, Record, differences
from ensemble_search.search.limits import FIGURES, Limits, unaffected


def take_over(journal: Journal) -> None:
    """Copy the evaluations that a change of limits does not affect to a new, open, empty journal.

    They come from a neighbouring journal that differs only in the limits, up to the first
    evaluation that could end differently. If there is no such journal, the differences from the
    latest one are logged.
    """
    found = list(journal.folder.parent.glob("*/fingerprint.json"))
    others = {p.parent: _fingerprint(p) for p in found if p.parent != journal.folder}
    latest = sorted(others, key=lambda folder: (folder / "fingerprint.json").stat().st_mtime)
    best: tuple[int, int, Path | None, list[Record]] = 0, 0, None, []
    for folder in latest:
        fingerprint = others[folder]
        if fingerprint and _without_limits(fingerprint) == _without_limits(journal.fingerprint):
            with suppress(UserError), Journal(folder, fingerprint, journal.shapes) as other:
                count = unaffected(
                    ((r.status, {f: getattr(r, f) for f in FIGURES}) for r in other.records),
                    fingerprint["limits"],
                    journal.fingerprint["limits"],
                    journal.fingerprint["threads"],
                )
                if count > best[0]:
                    best = count, len(other.records), folder, other.records[:count]
    count, total, source, records = best
    if source:
        for record in records:
            journal.append(record)
        changes = "; ".join(
            differences(others[source]["limits"], journal.fingerprint["limits"], "limits.")
        )
        rest = "" if count == total else f"; evaluation {count + 1} could have ended otherwise"
        _say(f"takes over {count} of {total} evaluations of '{source}' ({changes}){rest}")
    elif latest:
        changes = "; ".join(differences(others[latest[-1]], journal.fingerprint))
        _say(f"starts over: not the search of the journal '{latest[-1]}' ({changes})")


def _fingerprint(path: Path) -> dict[str, Any]:
    """Read the fingerprint of another journal; empty, with a message, if it is damaged."""
    try:
        fingerprint = read_json(path)
        fitting(Limits, fingerprint.get("limits"), path)
        return fingerprint
    except Unusable as error:
        _say(f"nothing is taken over from '{path.parent}': {error.reason} ({path.name})")
        return {}


def _without_limits(fingerprint: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fingerprint.items() if key != "limits"}


def _say(text: str) -> None:
    print(text, file=sys.stderr)
