"""The page: what it says, what it may not contain, and that it is the same every time."""

import base64
import csv
import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import report
from ensemble_search.analysis.load import load
from ensemble_search.analysis.losses import ERROR
from ensemble_search.papers.divbo import member_diversity
from ensemble_search.papers.divbo.significance import counts_table
from ensemble_search.report import pages, tables, write
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.report.tables import Cell, Table, cells
from ensemble_search.results import layout
from ensemble_search.runtime import files
from ensemble_search.runtime.errors import UserError
from support import SCRIPTS, forks
from support import made_results as made
from support.html_page import Page, squeezed, text_of

pytestmark = pytest.mark.slow

nan = np.nan


def errors(method: str, dataset: str, repeat: int):
    """Errors that fall at different speed; method names order them."""
    place = {"RS": 3, "RS-ES": 2, "DivBO": 1}.get(method, 2)
    test = [nan, 0.5, 0.4, *[0.2 + 0.02 * place + 0.001 * repeat] * 5]
    return [nan, 0.45, 0.5, *[0.2 + 0.01 * place] * 5], test


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete study of three methods, two data sets and three repeats, and its report."""
    results = tmp_path_factory.mktemp("whole")
    study = made.study()
    study["report"] |= {"png": True, "single_file": True}
    made.write(results, study, errors)
    write.write(study, results, results / "report")
    return study, results


def read(folder: Path) -> Page:
    return Page((folder / "index.html").read_text(encoding="utf-8"))


def test_bars_are_explained_where_there_are_bars(whole, tmp_path):
    said = "the bar is the 95 % interval"
    assert said not in squeezed(read(whole[1] / "report"))  # same ranks on both data sets
    study, swap = made.study(), {"DivBO": "RS", "RS": "DivBO"}

    def differ(method, dataset, repeat):
        return errors(swap.get(method, method) if dataset == "wind" else method, dataset, repeat)

    made.write(tmp_path, study, differ)
    write.write(study, tmp_path, tmp_path / "report")
    assert said in squeezed(read(tmp_path / "report"))


def test_the_answer_comes_first(whole):
    html = read(whole[1] / "report")
    text = squeezed(html)
    assert "test error: DivBO has the lowest average rank (1.00 of 3 methods)" in text
    assert "DivBO delivers the single best pipeline of its search" in text
    assert "makes the best ensemble" not in text
    assert "too few data sets and repeats" in text
    assert "2.00 percentage points below that of RS-ES" in text
    order = ["Which method wins?", "Page by page", "Test error on each data set",
             "Where did the time go?", "What failed?", "What is missing?",
             "How was it made?"]  # fmt: skip
    places = [text.index(heading) for heading in order]
    assert places == sorted(places)
    assert "Nothing: the study is complete." in text


def test_numbers_of_members_are_in_the_file_of_the_summary(whole):
    data = pd.read_csv(whole[1] / "report/tables/summary.csv").set_index("method")
    assert data["members"].to_dict() == {"DivBO": 3, "RS-ES": 3, "RS": 3}


def test_error_table_has_means_deviations_and_the_best_in_bold(whole):
    with (whole[1] / "report/tables/test-error.csv").open() as file:
        rows = {(r["dataset"], r["method"]): r for r in csv.DictReader(file)}
    row = rows["wind", "DivBO"]
    assert float(row["mean"]) == pytest.approx(0.221)
    assert float(row["std"]) == pytest.approx(0.001)
    assert (row["repeats"], float(row["majority_error"])) == ("3", pytest.approx(0.3))
    tex = (whole[1] / "report/tables/test-error.tex").read_text()
    assert r"wind & 30.00 & 26.10 $\pm$ 0.10 & 24.10 $\pm$ 0.10 & \textbf{22.10 $\pm$ 0.10}" in tex
    assert r"average rank &  & 3.00 & 2.00 & \textbf{1.00} \\" in tex


def test_every_table_and_figure_is_linked_and_there(whole):
    folder = whole[1] / "report"
    links = {"index.html"}
    for file in (folder / "index.html", *(folder / "pages").iterdir()):
        addresses = [a["href"] for a in Page(file.read_text(encoding="utf-8")).all("a")]
        links |= {
            str((file.parent / a).resolve().relative_to(folder.resolve()))
            for a in addresses
            if not a.startswith("#")
        }
    made_files = {str(f.relative_to(folder)) for f in folder.rglob("*.*")}
    assert made_files == links - {"tables", "figures"}
    assert {f.suffix for f in (folder / "figures").iterdir()} == {".svg", ".png", ".csv"}
    stems = {f.stem for f in (folder / "figures").iterdir()}
    assert {"rank-curves-test", "rank-curves-validation", "each-data-set-test-quake"} <= stems
    ids = [attrs["id"] for _, attrs in read(folder).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    anchors = {a["href"][1:] for a in read(folder).all("a") if a["href"].startswith("#")}
    assert anchors <= set(ids)


def leaving(html: Page) -> list[str]:
    """Addresses in a page that leave its folder."""
    found = []
    for _, attrs in html.tags:
        for key in ("src", "href", "srcset", "action", "data", "poster"):
            if key in attrs and not re.match(
                r"(#|data:|whole.html$|(pages|tables|figures)/[\w.-]*$)", attrs[key]
            ):
                found.append(attrs[key])
    return found


def test_page_is_self_contained(whole):
    text = (whole[1] / "report/index.html").read_text()
    html = Page(text)
    assert leaving(html) == []
    assert html.all("script") == [{}]
    assert not re.search(r"https?://|@import|url\(", text)
    bad = '<a href="../x"></a><img src="//host/a.png"><a href="tables/../../x"></a>'
    assert len(leaving(Page(bad))) == 3


def test_the_report_as_one_file_holds_everything_and_links_to_no_file(whole):
    folder = whole[1] / "report"
    html = Page((folder / "whole.html").read_text(encoding="utf-8"))
    addresses = [v for _, attrs in html.tags for k in ("src", "href") if (v := attrs.get(k))]
    assert all(re.match("#|data:", address) for address in addresses)
    ids = [attrs["id"] for _, attrs in html.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a[1:] for a in addresses if a[0] == "#"} <= set(ids)
    parts = [folder / "index.html", *(folder / "pages").iterdir()]
    pages = [Page(part.read_text(encoding="utf-8")) for part in parts]
    for tag in ("table", "img", "figure"):
        assert len(html.all(tag)) == sum(len(page.all(tag)) for page in pages)
    drawn = [base64.b64decode(i["src"].partition(",")[2]) for i in html.all("img")]
    assert {f.read_bytes() for f in (folder / "figures").glob("*.svg")} <= set(drawn)


def test_pages_may_run_their_own_script_only(whole):
    script = (SCRIPTS / "ensemble_search/report/script.js").read_bytes()
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    folder = whole[1] / "report"
    for file in (folder / "index.html", folder / "whole.html", *(folder / "pages").iterdir()):
        html = Page(file.read_text(encoding="utf-8"))
        (policy,) = (m["content"] for m in html.all("meta") if "http-equiv" in m)
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == f"'sha256-{digest}'"
        assert f"<script>{script.decode()}</script>" in file.read_text(encoding="utf-8")


def test_one_file_is_written_only_if_the_study_asks_for_it(whole, tmp_path):
    study = {**whole[0], "report": {**whole[0]["report"], "single_file": False, "png": False}}
    write.write(study, whole[1], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "figures", "index.html", "pages", "tables",
    ]  # fmt: skip
    assert "whole.html" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_page_is_accessible(whole):
    html = read(whole[1] / "report")
    images = html.all("img")
    assert images
    assert all("alt" in image for image in images)
    curves = Page((whole[1] / "report/pages/each-data-set.html").read_text(encoding="utf-8"))
    described = [i["alt"] for i in curves.all("img") if i["alt"]]
    assert any("DivBO 22.10 %" in alt for alt in described)
    assert html.all("html")[0]["lang"] == "en"
    assert len(html.all("caption")) == len(html.all("table"))
    assert all(th.get("scope") in ("row", "col") for th in html.all("th"))


def test_methods_differ_by_more_than_colour():
    names = [f"m{i}" for i in range(10)]
    look = figures.styles(names, "m3")
    assert len({s["color"] for s in look.values()}) == 10
    assert len({s["marker"] for s in look.values()}) == 10
    assert look["m3"]["linewidth"] > max(s["linewidth"] for m, s in look.items() if m != "m3")


def channels(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """WCAG's ratio of the luminances of two colours, their channels from 0 to 1."""
    linear = (np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in (one, other))
    low, high = sorted(np.dot(c, [0.2126, 0.7152, 0.0722]) for c in linear)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*figures.COLOURS, figures.REFERENCE])
def test_lines_have_contrast_on_white_and_on_dark_pages(colour):
    assert contrast(channels(colour), np.ones(3)) >= 3
    style = (SCRIPTS / "ensemble_search/report/style.css").read_text(encoding="utf-8")
    dark = style[style.index("prefers-color-scheme: dark") :]
    assert "filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen" in dark
    paper = channels(re.search("--paper: (#.{6})", dark)[1])
    # The matrix of hue-rotate(180deg), as the specification of CSS filters has it.
    turn = [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]
    turned = np.clip(turn @ (1 - channels(colour)), 0, 1)
    assert contrast(1 - (1 - turned) * (1 - paper), paper) >= 3


def test_only_figures_whose_colours_are_values_keep_them_on_dark_pages(tmp_path):
    for draw, coloured in (("plot", False), ("imshow", True)):
        figure = Figure()
        getattr(figure.subplots(), draw)([[0, 1], [1, 0]])
        drawing = figures.publish(figure, draw, pd.DataFrame(), "t", "a", folder=tmp_path)
        assert drawing.coloured == coloured


def test_the_same_results_give_the_same_bytes(whole, tmp_path):
    """Other processes, two at a time: hash seeds, order and the clock may not matter."""
    study, results = whole
    arguments = ["--study", json.dumps(study), "--results", results, "--output", tmp_path]
    arguments += ["--study-file", study["file"]]
    subprocess.run(
        [sys.executable, SCRIPTS / "report.py", *arguments, "--threads", "2"],
        check=True,
        capture_output=True,
    )
    first = {f.relative_to(tmp_path): f.read_bytes() for f in tmp_path.rglob("*.*")}
    assert len(first) > 30
    for name, content in first.items():
        assert (results / "report" / name).read_bytes() == content, name
        if name.suffix in (".svg", ".png"):
            assert b"Matplotlib v" not in content
            assert b"dc:date" not in content


def test_files_do_not_depend_on_the_folder(whole):
    text = (whole[1] / "report/index.html").read_text()
    assert str(whole[1]) not in text


def test_half_a_study(tmp_path):
    study = made.study()
    skip = {("DivBO", "wind", r) for r in range(3)} | {("RS", "quake", 1)}
    made.write(tmp_path, study, errors, skip)
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "2 of 6 combinations of data set and repeat" in text
    assert "on 1 of 2 data sets" in text
    assert "4 of 18 files of the stage “ensemble”" in text
    assert "snakemake --cores all --configfile studies/made.yaml" in text
    lost = pd.read_csv(tmp_path / "report/tables/missing.csv")
    assert "ensembles/wind/search-divbo/ensemble-divbo/2/scores.parquet" in set(lost["file"])
    data = pd.read_csv(tmp_path / "report/tables/test-error.csv")
    assert set(data["dataset"]) == {"quake"}
    assert set(data["repeats"]) == {2}
    progress = pd.read_csv(tmp_path / "report/tables/progress.csv")
    assert progress.set_index("dataset").loc["wind"].tolist() == [3, 3, 0]


def test_an_empty_study_says_what_to_run(tmp_path):
    study = made.study()
    write.write(study, tmp_path / "nothing", tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "There are no results to compare yet." in text
    assert "snakemake --cores all --configfile studies/made.yaml" in text
    # Snakemake deletes a report of which a declared folder was not written.
    assert all((tmp_path / "report" / name).is_dir() for name in ("pages", "tables", "figures"))


def test_searches_without_ensembles_are_reported(tmp_path):
    study = made.study(("RS",), ("quake",), repeats=1)
    more = {"message": "broke & <b>fell</b>", "made_with": made.made_with(study, "search-rs")}
    made.write_search(tmp_path, "quake", "search-rs", 0, [nan, 0.2], **more)
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "No method has finished a run yet (finished searches: 1)." in text
    assert "broke & <b>fell</b>" in text


def test_one_method_one_repeat_no_failure(tmp_path):
    study = made.study(("RS",), ("quake",), repeats=1)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 8, [0.2] * 8))
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "Only RS has results, so there is nothing to compare" in text
    assert "No evaluation failed." in text
    assert "20.00 %" in text


def test_every_evaluation_failed(tmp_path):
    study = made.study(("RS", "DivBO"), ("quake",), repeats=2)
    failed = [nan] * 8
    made.write(
        tmp_path, study, lambda m, d, r: (failed, failed) if m == "RS" else ([0.3] * 8, [0.2] * 8)
    )
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "2 finished runs never had a model" in text
    data = pd.read_csv(tmp_path / "report/tables/test-error.csv").set_index("method")
    assert data["mean"].to_dict() == {"RS": 1.0, "DivBO": 0.2}


def test_ensembles_without_their_refits_are_counted(tmp_path):
    study = made.study(("RS", "DivBO"), ("quake", "wind"), repeats=2)
    made.write(tmp_path, study, errors)
    parts = study["methods"]["RS"]
    for repeat, failed, iterations in ((0, [3], 1), (1, [], 2)):
        run = {"dataset": "wind", "search": parts["search"], "repeat": repeat}
        folder = layout.path(tmp_path, layout.ENSEMBLE, **run, ensemble=parts["ensemble"])
        manifest = json.loads((folder / "ensemble.json").read_text(encoding="utf-8"))
        files.write_json(folder / "ensemble.json", {**manifest, "failed_refits": failed,
            "iterations_with_failed_refits": iterations})  # fmt: skip
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert (
        "Some of these ensembles differ from what their method specifies, because pipelines" in text
    )
    data = pd.read_csv(tmp_path / "report/tables/failed-refits.csv")
    expected = {"method": "RS", "dataset": "wind", "runs": 2, "failed": 1, "ever": 2}
    assert data.to_dict("records") == [expected]


def test_the_reference_without_results_is_replaced_openly(tmp_path):
    study = made.study(("DivBO", "RS", "RS-ES"), ("quake",), repeats=2)
    made.write(tmp_path, study, errors, {("DivBO", "quake", 0), ("DivBO", "quake", 1)})
    write.write(study, tmp_path, tmp_path / "report")
    page_ = Page((tmp_path / "report/pages/significance.html").read_text(encoding="utf-8"))
    assert "DivBO, the reference method, has no results" in squeezed(page_)
    text = squeezed(read(tmp_path / "report"))
    assert "Left out, for lack of results: DivBO." in text


def test_names_cannot_inject_markup(tmp_path):
    evil = '<script>alert("1")<'
    study = made.study((evil, "$x_1$ & 100%"), (evil, "a b"), repeats=1)
    study["study"] = evil
    made.write(tmp_path, study, errors)
    write.write(study, tmp_path, tmp_path / "report")
    html = read(tmp_path / "report")
    assert html.all("script") == [{}]
    assert evil in html.text
    assert not list((tmp_path / "report").rglob("*.png"))
    for figure in (tmp_path / "report/figures").glob("*.svg"):
        assert "<script" not in figure.read_text()
    tex = (tmp_path / "report/tables/test-error.tex").read_text()
    assert r"\textless{}script\textgreater{}alert(\textquotedbl{}1\textquotedbl{})" in tex
    assert r"\$x\_1\$ \& 100\%" in tex


def test_failures_are_counted_in_the_page(whole):
    data = pd.read_csv(whole[1] / "report/tables/failures-by-cause.csv")
    assert data[["status", "error_type", "failures"]].to_numpy().tolist() == [
        ["timeout", "TimeoutError", 18]
    ]
    share = pd.read_csv(whole[1] / "report/tables/failures-by-algorithm.csv").set_index("algorithm")
    assert share.loc["adaboost", ["evaluations", "failed"]].tolist() == [36, 18]


def test_origins_and_settings_are_told(whole):
    text = squeezed(read(whole[1] / "report"))
    for fact in ("0123456789abcdef", "uncommitted changes", "node-1", "limits.seconds"):
        assert fact in text
    assert "Searches ran from 2025-01-01 08:00 to 2025-01-03 09:00 UTC." in text
    assert "18 searches: 6 min of search in total (wall-clock time)." in text
    assert "recorded" not in text
    assert "total CPU time of all runs' evaluations" in text


def test_latex_is_escaped_and_rectangular():
    rows = [cells("a_b & c", "50 %"), [Cell("x^2 ~ #{}\\"), Cell("1.5 ± 0.2", True)]]
    table = Table("t", "50 % of $", ["name", "< 1"], rows, pd.DataFrame(), foot=1)
    lines = tables.latex(table).splitlines()
    assert lines[3] == r"\caption{50 \% of \$}"
    assert lines[5] == r"\begin{tabular}{lr}"
    assert lines[7] == r"name & \textless{} 1 \\"
    assert lines[9:12] == [
        r"a\_b \& c & 50 \% \\",
        r"\midrule",
        r"x\textasciicircum{}2 \textasciitilde{} \#\{\}\textbackslash{} & "
        r"\textbf{1.5 $\pm$ 0.2} \\",
    ]


def test_figure_data_are_the_numbers_drawn(whole):
    data = pd.read_csv(whole[1] / "report/figures/each-data-set-test-quake.csv")
    last = data[data["iteration"] == 8].set_index("method")
    assert last.loc["RS", "mean"] == pytest.approx(0.261)
    assert last.loc["RS", "std"] == pytest.approx(0.001)
    assert data.loc[data["iteration"] == 1, "mean"].isna().all()
    validation = pd.read_csv(whole[1] / "report/figures/each-data-set-validation-quake.csv")
    assert validation.query("method == 'RS'")["mean"].tolist()[1:3] == [0.45, 0.45]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "--study: invalid loads value"),
        ("[]", "key 'study' is missing"),
        ('{"study": 1}', "'datasets'"),
    ],
)
def test_a_bad_study_gets_one_line(text, message, tmp_path):
    arguments = ["--study", text, "--results", tmp_path, "--output", tmp_path / "out"]
    run = subprocess.run(
        ["python", SCRIPTS / "report.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=forks.environment(tmp_path),
    )
    assert run.returncode == 2
    assert message in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


def broken_page(monkeypatch, action):
    """Let one page, rank curves, do something else."""
    from ensemble_search.papers.divbo import rank_curves

    monkeypatch.setattr(rank_curves, "build", lambda results, publish: action())


def raising(error):
    def action():
        raise error

    return action


MACHINE = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EIO, "Input/output error", "results/a"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    MemoryError(),
    UserError("cannot write 'a': No space left on device"),
]


@pytest.mark.parametrize("error", MACHINE, ids=str)
def test_an_error_of_the_machine_is_none_of_the_page(whole, tmp_path, monkeypatch, error):
    broken_page(monkeypatch, raising(error))
    page = "ensemble_search.papers.divbo.rank_curves"
    monkeypatch.setattr(pages, "modules", lambda: [page])
    with pytest.raises(type(error)) as caught:
        write.write(*whole, tmp_path)
    assert caught.value is error
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize("error", MACHINE[:4], ids=str)
def test_a_result_that_the_machine_does_not_let_read_is_not_missing(whole, monkeypatch, error):
    maps = np.lib.format, "open_memmap"
    for library, name in ((pq, "ParquetFile"), maps, (json, "loads")):
        with monkeypatch.context() as patch:
            patch.setattr(library, name, lambda *_, **__: raising(error)())
            with pytest.raises((UserError, MemoryError)) as caught:
                member_diversity.of_runs(results := load(*whole), results.compared)
            assert not isinstance(caught.value, files.Unusable)


def test_an_error_of_a_page_is_told_there_and_by_the_caller(whole, tmp_path, monkeypatch, capsys):
    broken_page(monkeypatch, raising(FileNotFoundError(errno.ENOENT, "no such file", "x" * 999)))
    (unmade,) = write.write(*whole, tmp_path)
    assert unmade.title == "Ranks over the budget"
    assert len(unmade.error) < 400
    assert "Traceback" in capsys.readouterr().err
    text = text_of(tmp_path / "pages/rank-curves.html")
    assert f"This page could not be made: {unmade.error}" in text
    whole_pages = {path.name for path in (whole[1] / "report/pages").iterdir()}
    assert {path.name for path in (tmp_path / "pages").iterdir()} == whole_pages


def test_a_report_without_a_page_is_moved_out_of_the_way(whole, tmp_path, monkeypatch, capsys):
    broken_page(monkeypatch, raising(ValueError("a\n b")))
    study, results = whole
    folders = ["--output", str(tmp_path / "report"), "--incomplete", str(tmp_path / "rest")]
    arguments = ["report.py", "--study", json.dumps(study), "--results", str(results), *folders]
    monkeypatch.setattr(sys, "argv", arguments)
    (tmp_path / "rest/pages").mkdir(parents=True)
    (tmp_path / "rest/pages/old.html").touch()
    with pytest.raises(
        UserError, match=r"'Ranks over .*' \(ValueError: a b\); the rest is in '.*rest"
    ):
        report.main()
    assert [path.name for path in tmp_path.iterdir()] == ["rest"]
    assert (tmp_path / "rest/index.html").is_file()
    assert not (tmp_path / "rest/pages/old.html").exists()
    assert capsys.readouterr().out == ""


#: Makes the main page, and of the others only that of ranks: ARGUMENTS SCRIPTS.
SOME_PAGES = """
import sys
sys.path.insert(0, sys.argv.pop())
import report
from ensemble_search.report import pages
pages.modules = lambda: ["ensemble_search.papers.divbo.rank_curves"]
report.main()
"""


@pytest.mark.parametrize("setting", ["module://matplotlib_inline.backend_inline", "tkagg", "none"])
def test_figures_do_not_depend_on_settings_of_matplotlib(whole, tmp_path, setting):
    """A notebook names a backend in the environment; a user's matplotlibrc changes anything."""
    study, results = whole
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 20\naxes.facecolor: red\ntext.usetex: True\n"
    )
    arguments = [
        "--study",
        json.dumps(study),
        "--results",
        results,
        "--output",
        tmp_path / "report",
    ]
    environment = {**os.environ, "MPLBACKEND": setting, "MATPLOTLIBRC": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", SOME_PAGES, *arguments, SCRIPTS],
        check=True,
        capture_output=True,
        env=environment,
    )
    for name in ("average-rank", "time", "rank-curves-test"):
        files = [folder / f"report/figures/{name}.svg" for folder in (tmp_path, results)]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_writes_that_are_rejected_end_the_report_with_one_line(whole, tmp_path):
    """The system allows no file of more than 4000 bytes: tables can be written, figures not."""
    study, results = whole
    code = (
        "import resource, runpy, sys; sys.argv = sys.argv[1:]; sys.path[0] = sys.argv.pop()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    arguments = ["--study", json.dumps(study), "--results", results, "--output", tmp_path]
    run = subprocess.run(
        [sys.executable, "-c", code, SCRIPTS / "report.py", *arguments, SCRIPTS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: cannot write '")
    assert line.endswith(".svg': File too large")


def test_with_few_repeats_the_page_says_that_same_means_nothing(whole):
    html = Page((whole[1] / "report/pages/significance.html").read_text(encoding="utf-8"))
    text = squeezed(html)
    assert "With at most 3 paired repeats, the smallest possible p-value is 0.25" in text
    study = {"x": pd.DataFrame({"method": ["B"], "pairs": [6], "outcome": ["better"]})}
    assert not any(
        "paired repeats, the smallest" in n for n in counts_table(study, "A", ERROR, "").notes
    )


def test_error_axis_does_not_go_far_below_zero():
    rows = [("A", i, 0.01, 0.05) for i in range(1, 11)]
    curve = pd.DataFrame(rows, columns=["method", "iteration", "mean", "std"])
    figure = curve_figures.error_panel(curve, ["A"], figures.styles(["A"]), "test", ERROR)
    low, high = figure.axes[0].get_ylim()
    assert -0.1 * high < low < 0


def test_sentences_about_what_is_left_out_are_apart(tmp_path):
    study = made.study(datasets=("quake",), repeats=1)
    made.write(tmp_path, study, lambda m, d, r: ([0.3] * 8, [0.3] * 8), {("DivBO", "quake", 0)})
    write.write(study, tmp_path, tmp_path / "report")
    text = squeezed(read(tmp_path / "report"))
    assert "lack of results: DivBO. What is missing" in text
    assert "(1 data set, 1 run per method)" in text


def test_times_of_shared_fits_are_named_as_partly_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "modules", lambda: [f"{pages.__name__}.each_data_set"])
    content = made.study(("RS", "DivBO"), ["quake"], repeats=2)
    made.write(tmp_path, content, errors)
    shared = {"made_with": {**made.made_with(content, "search-divbo"), "origin": {"shared": 8}}}
    made.write_search(
        tmp_path, "quake", "search-divbo", 0, errors("DivBO", "quake", 0)[0], **shared
    )
    assert write.write(content, tmp_path, tmp_path / "report") == []
    text = squeezed(read(tmp_path / "report"))
    assert "of search in total (wall-clock time, partly recorded)." in text
    assert "mean fitting per run, partly recorded" in text
    assert "Seconds of evaluations that searches share, or that were given, are those" in text
    page = " ".join(text_of(tmp_path / "report/pages/each-data-set.html").split())
    assert "fitting per run, partly recorded" in page
    assert "Seconds of evaluations that searches share" in page


@pytest.mark.parametrize("fidelity", [1, 0.5])
def test_times_of_replays_are_named_as_recorded(tmp_path, monkeypatch, fidelity):
    shown = [f"{pages.__name__}.{name}" for name in ("each_data_set", "inference_time")]
    monkeypatch.setattr(pages, "modules", lambda: shown)
    content = made.study(("RS", "DivBO"), ["quake"], repeats=2) | {"evaluation": {"replay": "x"}}
    made.write(tmp_path, content, errors)
    for method, parts in content["methods"].items():
        for repeat in range(2):
            validation, _ = errors(method, "quake", repeat)
            settings = made.made_with(content, parts["search"])
            table = {"folder": "x", "entries": 20, "checksum": "0" * 64}
            more = {"made_with": {**settings, "table": table}, "fidelity": fidelity}
            made.write_search(tmp_path, "quake", parts["search"], repeat, validation, **more)
    assert write.write(content, tmp_path, tmp_path / "report") == []
    text = squeezed(read(tmp_path / "report"))
    assert ("(40 % of them are evaluated)" in text) == (fidelity == 1)
    assert "Searches were replayed from 2025-01-01" in text
    # 4 runs of 8 evaluations: 0.5 s to suggest and 2 s to fit, as the table has it.
    assert "4 searches: 16 s of replaying in total, and 64 s of fitting recorded when" in text
    assert "mean fitting per run, recorded" in text
    assert "total CPU time of all runs' evaluations, recorded" in text
    assert "replayed and fitted nothing: their times of fitting" in text
    assert "fitting per run, recorded" in text_of(tmp_path / "report/pages/each-data-set.html")
    times = text_of(tmp_path / "report/pages/inference-time.html")
    assert "rows of a data set, recorded when the table was made" in " ".join(times.split())


@pytest.mark.parametrize(
    ("budget", "used", "facts"),
    [
        ({"fits": 12}, "2.667 of 12 full fits", "12 full fits per search"),
        ({"seconds": 20.0}, "16 of 20 seconds (wall-clock) of", "20 seconds of fitting per search"),
        ({"cpu_seconds": 16.0}, "12 of 16 CPU seconds of", "16 CPU seconds of fitting per search"),
    ],
)
def test_searches_that_used_up_their_table_are_named(tmp_path, monkeypatch, budget, used, facts):
    monkeypatch.setattr(pages, "modules", list)
    content = made.study(("RS", "DivBO"), ["quake"], repeats=2) | {"evaluation": {"replay": "x"}}
    made.write(tmp_path, content, errors)

    def text(budget: dict) -> str:
        study, table = content | {"budget": budget}, {"folder": "x", "entries": 8}
        for search in study["searches"]:
            settings = made.made_with(study, search) | {"budget": budget}
            more = {"made_with": {**settings, "table": table | {"checksum": "0" * 64}}}
            for repeat in range(2):
                validation = errors("DivBO", "quake", repeat)[0]
                place = ("quake", search, repeat)
                made.write_search(tmp_path, *place, validation, fidelity=1 / 3, **more)
        assert write.write(study, tmp_path, tmp_path / "report") == []
        return squeezed(read(tmp_path / "report"))

    short = text(budget)
    assert f"4 searches of 4 (search-divbo, search-rs) ended after {used}" in short
    assert f", up to {facts}" in short
    assert "the study is complete" not in short
    reached = text(dict.fromkeys(budget, 2))
    assert "up to" not in reached.partition("per search")[0]
    assert "used up" not in reached
    assert "Nothing: the study is complete." in reached
