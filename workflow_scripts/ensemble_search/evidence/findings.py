"""What is found about the options of users: the ledger's first table, and README's figure."""

from collections.abc import Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from ensemble_search.analysis import effects, losses, wilcoxon
from ensemble_search.analysis.verdict import listed
from ensemble_search.evidence import page as pages
from ensemble_search.evidence import rows as evidence_rows
from ensemble_search.evidence.rows import Evidence
from ensemble_search.report.plots.figures import REFERENCE, STYLE

#: Studies that compare the options of users.
QUESTIONS = {
    "verdict": "Which search makes the best ensemble?",
    "verdict-libraries": "Which search of other libraries makes the best ensemble?",
    "rules": "Which ensemble of the same models is best?",
}
#: What the figure shows, for readers who cannot see it.
ALT = "Differences in test error with their 95 % intervals; evidence/findings.csv has the numbers"


def table(evidence: Mapping[str, Evidence]) -> pd.DataFrame:
    """Compare the methods of the studies :data:`QUESTIONS` with their references.

    One row per study and method: ``error``, the mean difference in test error from the
    ``reference``, its interval (``error_low``, ``error_high``) and ``detectable`` of
    ``effects.intervals``, in points where errors are shares; ``p_holm``, the p-value of the paired
    t-test over data sets, adjusted for the study's other methods; ``without``, the data set whose
    omission changes the mean most, and the ``rest`` without it (``rest_low``, ``rest_high``);
    ``digits`` to show; the numbers of ``datasets``, and of ``repeats``, of which some may not be
    ``done``.
    """
    found = []
    for name in QUESTIONS:
        if name not in evidence:
            continue
        study, rows = evidence[name]
        errors, shown = pages.mean_errors(study, rows), losses.of(study)
        if len(errors) < 3:
            continue
        done, repeats = evidence_rows.progress(study, rows)
        about: dict[str, object] = {"done": done, "repeats": repeats, "digits": shown.digits}
        about |= {"reference": pages.reference_of(study), "datasets": len(errors)}
        lines = _compared(errors * shown.scale, pages.reference_of(study), shown.most * shown.scale)
        found.append(lines.assign(study=name, **about).rename_axis("method").reset_index())
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame({"study": []})


def _compared(errors: pd.DataFrame, reference: str, most: float) -> pd.DataFrame:
    """Compare methods; one row per method, see :func:`table`."""
    from scipy.stats import ttest_1samp

    ends = ["error", "error_low", "error_high"]
    found = effects.intervals(errors, reference, most)[[*ends, "detectable"]]
    shifts = errors[found.index].sub(errors[reference], axis=0)
    found["p_holm"] = wilcoxon.holm([ttest_1samp(shifts[name], 0).pvalue for name in shifts])
    found["without"] = (shifts - shifts.mean()).abs().idxmax()
    rest = {
        name: effects.intervals(errors.drop(index=without)[[reference, name]], reference, most)
        for name, without in found["without"].items()
    }
    found[["rest", "rest_low", "rest_high"]] = pd.concat(rest.values())[ends].to_numpy()
    return found


def words(found: pd.DataFrame) -> str:
    """Write what :func:`table` shows: significant differences, and what would have been one."""
    said = []
    for name, own in found.groupby("study", sort=False):
        first, lines = own.iloc[0], own[own["p_holm"] <= wilcoxon.ALPHA]
        sides = []
        for how, where in (("better", lines["error"] < 0), ("worse", lines["error"] > 0)):
            if side := [f"`{method}`" for method in lines["method"][where]]:
                sides.append(f"{listed(side)} {'is' if len(side) == 1 else 'are'} {how}")
        least = [f"{own['detectable'].agg(how):.{first['digits']}f}" for how in ("min", "max")]
        answer = "; ".join(sides) or "no significant difference"
        said.append(
            f"*{QUESTIONS[str(name)]}* Compared with `{first['reference']}`: {answer} (detectable "
            f"with {100 * effects.POWER:g} % power: {' to '.join(least)} points; "
            f"{first['done']} of {first['repeats']} repeats)."
        )
    return " ".join(said)


def draw(found: pd.DataFrame) -> Figure:
    """Draw the differences of :func:`table`, one panel per study."""
    studies = list(found.groupby("study", sort=False))
    with mpl.rc_context(STYLE):
        size = (4.2 * len(studies), 0.9 + 0.2 * found["study"].value_counts().max())
        figure = Figure(figsize=size, layout="constrained")
        for axes, (name, lines) in zip(
            figure.subplots(1, len(studies), squeeze=False)[0], studies, strict=True
        ):
            first, places = lines.iloc[0], range(len(lines), 0, -1)
            axes.axvline(0, color=REFERENCE, linewidth=1)
            axes.hlines(places, lines["error_low"], lines["error_high"], "#0072B2", linewidth=1.6)
            axes.plot(lines["error"], places, "o", color="#0072B2")
            axes.set_yticks(places, lines["method"])
            axes.set_ylim(0.4, len(lines) + 0.6)
            axes.set_xlabel(
                f"mean test error minus that of {first['reference']}, percentage points\n"
                f"(right: worse), with 95 % intervals; {first['datasets']} data sets,\n"
                f"{first['done']} of {first['repeats']} repeats done"
            )
            axes.set_title(QUESTIONS[name])
            axes.grid(axis="y", visible=False)
    return figure
