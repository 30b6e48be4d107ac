"""Forms of table files, read for training and for predictions of new rows."""

import datetime
import gzip
import shutil
import sys
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from ensemble_search.data import file_limits, normalise, prepare, sources, text_files
from ensemble_search.data.preparation import Categories, Preparation
from ensemble_search.predictor import rows
from ensemble_search.runtime.errors import UserError

FRAME = pd.DataFrame(
    {
        "id": [f"k{i}" for i in range(40)],
        "town": ["Köln", "Łódź", "Nice", "Bern"] * 10,
        "note": ['a "b", c; d', "e\tf|g", "h\ni", ""] * 10,
        "price": [i / 8 for i in range(40)],
        "y": ["yes", "no"] * 20,
    }
)
#: Without what Latin-1 lacks.
LATIN = FRAME.assign(town=["Köln", "Zürich", "Nice", "Bern"] * 10)


def forms(folder):
    """Write the table in all forms, by the names of the files."""
    for name, separator in (("c.csv", ","), ("s.csv", ";"), ("t.tsv", "\t"), ("p.csv", "|")):
        FRAME.to_csv(folder / name, index=False, sep=separator)
    FRAME.to_csv(folder / "g.csv.gz", index=False)
    (folder / "packed.csv").write_bytes((folder / "g.csv.gz").read_bytes())
    LATIN.to_csv(folder / "l.csv", index=False, encoding="cp1252", sep=";")
    FRAME.to_csv(folder / "i.csv")
    FRAME.to_parquet(folder / "q.parquet")


NAMES = [
    "c.csv",
    "s.csv",
    "t.tsv",
    "p.csv",
    "g.csv.gz",
    "packed.csv",
    "l.csv",
    "i.csv",
    "q.parquet",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("forms")
    forms(made)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_every_form_is_the_same_table_for_training(folder, name):
    raw = sources.from_file(str(folder / name), "y")
    expected = LATIN if name == "l.csv" else FRAME
    frame = raw.frame.drop(columns=list(raw.ignored))
    assert [*frame] == [*FRAME]
    assert frame.astype(object).where(frame.notna(), "").to_numpy().tolist() == (
        expected.to_numpy().tolist()
    )
    assert raw.ignored == (
        {text_files.INDEX: "pandas stored it as the index"} if name == "i.csv" else {}
    )
    _, described = normalise.normalise(raw)
    said = "the file is not UTF-8 text: read as Latin-1 (Windows-1252)"
    assert (said in described["notes"]) is (name == "l.csv")


def test_names_in_utf_8_above_a_row_that_is_not(tmp_path):
    """The reader of the first line sees no row of a long file."""
    rows_ = [b"a,p", b"b,q"] * 3000
    (tmp_path / "a.csv").write_bytes(b"\n".join(["é,y".encode(), *rows_, b"\xe9,p"]))
    frame = sources.read({"file": str(tmp_path / "a.csv"), "target": "y"}).frame
    assert [*frame] == ["Ã©", "y"]
    assert frame["Ã©"].iloc[-1] == "é"


@pytest.mark.parametrize("name", NAMES)
def test_every_form_is_the_same_rows_for_predictions(folder, name):
    needed = ["price", "note", "town", "id"]
    if name == "q.parquet":
        parts = rows.parquet(folder / name, needed, 15)
    else:
        parts = rows.chunks(folder / name, needed, 15, {"price"})
    columns = {own: [] for own in needed}
    for part, _ in parts:
        assert len(part["id"]) in (15, 10, 0)
        for own in needed:
            columns[own] += list(part[own])
    expected = LATIN if name == "l.csv" else FRAME
    assert [float(value) for value in columns["price"]] == FRAME.price.tolist()
    for own in needed[1:]:
        assert columns[own] == expected[own].tolist()


def test_the_column_of_an_index_can_be_used(folder):
    raw = sources.from_file(str(folder / "i.csv"), "y")
    _, described = normalise.normalise(raw, {"numeric": [text_files.INDEX]})
    assert described["columns"][text_files.INDEX] == "numeric"


def test_a_header_decides_what_separates_fields():
    assert text_files.separator("a;b,c\n", ["b"]) == ","
    assert text_files.separator("a;b,c\n", ["a"]) == ";"
    assert text_files.separator('"a,b";c;"d,e,f,g"\n', ["c"]) == ";"
    assert text_files.separator("a\tb\tc,d\n", ["x"]) == "\t"
    assert text_files.separator("y\n", ["y"]) == ","


def test_packed_files_that_are_cut_or_too_large_cost_a_line(tmp_path, folder, monkeypatch):
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes((folder / "g.csv.gz").read_bytes()[:-20])
    with pytest.raises(UserError, match="cannot be read as CSV: "):
        sources.from_file(str(cut), "y")
    with pytest.raises(UserError, match="cannot be unpacked: "):
        list(rows.chunks(cut, ["id"]))
    large = tmp_path / "large.csv.gz"
    large.write_bytes(gzip.compress(b"x,y\n" + b"1,a\n" * 400_000))
    monkeypatch.setattr(file_limits, "LARGEST_MB", 1)
    for read in (
        lambda: sources.from_file(str(large), "y"),
        lambda: list(rows.chunks(large, ["x"])),
    ):
        with pytest.raises(UserError, match=r"has 1 MB unpacked; at most 1 MB can be read"):
            read()


@pytest.mark.parametrize("name", ["openpyxl", "pyarrow"])
def test_formats_need_their_libraries(folder, tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    if name == "openpyxl":
        file = tmp_path / "a.xlsx"
        file.write_bytes(b"PK\3\4")
        with pytest.raises(UserError, match=r"needs openpyxl to be read: pip install openpyxl"):
            sources.from_file(str(file), "y")
        with pytest.raises(UserError, match=r"needs openpyxl to be read: pip install openpyxl"):
            list(rows.excel(file, ["x"]))
    else:
        with pytest.raises(UserError, match=r"needs pyarrow to be read: pip install pyarrow"):
            list(rows.parquet(folder / "q.parquet", ["id"], 10))


def test_excel_files(tmp_path):
    pytest.importorskip("openpyxl")
    file = tmp_path / "a.xlsx"
    made = FRAME.assign(day=pd.Timestamp("2020-02-03"), price=np.arange(40) * 1.5)
    made.to_excel(file)
    raw = sources.from_file(str(file), "y")
    frame, described = normalise.normalise(raw)
    assert described["left_out"] == {text_files.INDEX: "pandas stored it as the index"}
    assert described["columns"]["price"] == "numeric"
    assert described["columns"]["day"] == "date"
    assert frame.price.tolist() == made.price.tolist()
    ((columns, _),) = rows.excel(file, ["day", "price", "id"])
    assert columns["id"] == made.id.tolist()
    assert columns["price"] == made.price.tolist()
    assert {str(day) for day in columns["day"]} == {"2020-02-03 00:00:00"}
    with pytest.raises(UserError, match="has no column 'z'"):
        sources.from_file(str(file), "z")
    (tmp_path / "b.xlsx").write_bytes(b"PK\3\4aaaa")
    with pytest.raises(UserError, match="cannot be read as Excel"):
        sources.from_file(str(tmp_path / "b.xlsx"), "y")
    with pytest.raises(UserError, match="cannot be read: "):
        list(rows.excel(tmp_path / "b.xlsx", ["x"]))


def _sheet(file, edit):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["x", "z", "y"], *([i * 1.5, i, "ab"[i % 2]] for i in range(40))]:
        book.active.append(row)
    edit(book.active)
    book.save(file)


def test_what_a_cell_of_excel_cannot_say_is_said(tmp_path):
    """Names that are there twice, and results of formulas that are errors."""
    _sheet(tmp_path / "twice.xlsx", lambda sheet: sheet.cell(1, 2, "x"))
    for read in (
        lambda: sources.from_file(str(tmp_path / "twice.xlsx"), "y"),
        lambda: list(rows.excel(tmp_path / "twice.xlsx", ["x"])),
    ):
        with pytest.raises(UserError, match=r"has two columns called 'x'; rename one"):
            read()
    _sheet(tmp_path / "wide.xlsx", lambda sheet: sheet.cell(3, 4, 1))
    with pytest.raises(UserError, match=r"column 4 of '.*' has no name"):
        sources.from_file(str(tmp_path / "wide.xlsx"), "y")

    def divide(sheet):
        sheet["A3"].value, sheet["A3"].data_type = "#DIV/0!", "e"

    _sheet(tmp_path / "error.xlsx", divide)
    _, described = normalise.normalise(sources.from_file(str(tmp_path / "error.xlsx"), "y"))
    assert described["columns"]["x"] == "numeric"
    assert "1 value treated as missing: '#DIV/0!'" in " ".join(described["notes"])


@pytest.mark.parametrize(
    ("title", "number"),
    [("Report of 2024\n\n", 3), ('"Report\nof y"\n;;\n', 4), ("Report of 2024;;\n", 2)],
)
def test_a_title_above_the_names_of_the_columns_is_said(title, number, tmp_path):
    file = tmp_path / "titled.csv"
    lines = ["x;y;z", *(f"{i / 8};{'ab'[i % 2]};{i}" for i in range(40))]
    file.write_text(f"{title}{chr(10).join(lines)}\n")
    said = f"has a title: the names of the columns are in line {number}: remove what is above it"
    for read in (
        lambda: sources.check_file(str(file), "y"),
        lambda: list(rows.chunks(file, ["z", "x"])),
    ):
        with pytest.raises(UserError, match=said):
            read()
    for text in ("x;z\n\n1;y\n2;x\n", ";x;z\n0;1;y\n1;2;x\n"):  # values, the second below an index
        file.write_text(text)
        for read in (
            lambda: sources.check_file(str(file), "y"),
            lambda: list(rows.chunks(file, ["y"])),
        ):
            with pytest.raises(UserError, match="has no column 'y'"):
                read()


def test_a_title_of_a_sheet_is_said(tmp_path):
    file = tmp_path / "titled.xlsx"
    _sheet(file, lambda sheet: (sheet.insert_rows(1, 2), sheet.cell(1, 1, "Report of 2024")))
    for read in (
        lambda: sources.check_file(str(file), "y"),
        lambda: list(rows.excel(file, ["z", "x"])),
    ):
        with pytest.raises(UserError, match=r"has a title: the names of the columns are in row 3"):
            read()


def test_logical_cells_of_excel_among_others_are_no_numbers(tmp_path):
    def edit(sheet):
        for row in range(2, 42):
            sheet.cell(row, 2, row % 2 == 0)
        sheet.cell(3, 1, True)
        sheet.cell(4, 2, 7)

    _sheet(tmp_path / "a.xlsx", edit)
    frame, described = normalise.normalise(sources.from_file(str(tmp_path / "a.xlsx"), "y"))
    notes = " ".join(described["notes"])
    assert described["columns"] == {"x": "numeric", "z": "categorical"}
    assert frame.x.isna().tolist() == [row == 1 for row in range(40)]
    assert "1 value treated as missing: 'TRUE'" in notes
    assert "'7' (1) beside 'FALSE' and 'TRUE'" in notes
    ((columns, _),) = rows.excel(tmp_path / "a.xlsx", ["x", "z"])
    assert columns["x"][:3] == [0, "TRUE", 3]
    assert columns["z"][:4] == ["TRUE", "FALSE", 7, "FALSE"]
    made = Preparation([Categories("z", ["7", "FALSE", "TRUE"], [], "7", None)], ["z"])
    for cells in (["TRUE", "FALSE", 7], [True, np.False_, 7]):  # no column of new rows is mixed
        X, said = made.transform({"z": np.array(cells, dtype=object)})
        assert X.argmax(axis=1).tolist() == [2, 1, 0] and not said
    for words in (["True", "TRUE"], ["TRUE", "true"]):
        made = Preparation([Categories("z", words, [], words[0], None)], ["z"])
        assert made.transform({"z": [True]})[0].tolist() == [[float("True" in words), 0]]


def test_cells_of_several_types_are_read_as_their_text(tmp_path):
    """Dates among text, numbers or times; training and prediction agree."""
    days = [datetime.datetime(2021, 1, 1) + datetime.timedelta(i) for i in range(40)]
    cells = {
        "dates": [*(f"{day:%Y-%m-%d}" for day in days[:3]), datetime.time(3, 4), *days[4:]],
        "numbers": [days[0], *(i / 2 for i in range(1, 40))],
        "words": [days[0], datetime.time(3, 4), "b", 5] * 10,
    }
    file = tmp_path / "mixed.xlsx"
    pd.DataFrame({**cells, "y": ["a", "b"] * 20}).to_excel(file, index=False)
    frame, described = normalise.normalise(sources.from_file(str(file), "y"))
    kinds = {"dates": "date", "numbers": "numeric", "words": "categorical"}
    assert described["columns"] == kinds
    assert frame[[*kinds]].isna().sum().tolist() == [1, 1, 0]
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    inputs, _, split = prepare.make_split(frame, described, settings)
    preparation = Preparation.from_json(split["preparation"])
    assert "words=2021-01-01T00:00:00" in preparation.features
    ((columns, _),) = rows.excel(file, preparation.names)
    made, _ = preparation.transform(columns)
    parts = np.concatenate([inputs.X_train, inputs.X_validation, inputs.X_test])
    assert sorted(made.tolist()) == sorted(parts.tolist())


def test_periods_in_new_rows_are_rejected(tmp_path):
    """Only pandas knows which dates their numbers are."""
    file = tmp_path / "periods.parquet"
    pd.DataFrame({"x": pd.period_range("2020-01", periods=9, freq="M"), "z": 1}).to_parquet(file)
    assert list(rows.parquet(file, ["z"], 10))
    with pytest.raises(UserError, match=r"column 'x' of .* holds periods, .* save it as dates"):
        list(rows.parquet(file, ["z", "x"], 10))


def test_words_for_missing_values_are_counted_in_rows_with_a_target(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,z,y\n" + "NA,1,\n" * 3 + "1,,a\n" * 3 + "NA,2,b\n" * 4 + " NA,2,b\n" * 2)
    _, described = normalise.normalise(sources.from_file(str(file), "y"))
    assert described["gaps"] == {"x": [0, 6], "z": [3, 0]}
    assert "column 'x' has 6 values treated as missing: 'NA' (6)" in described["notes"]


def test_formulas_that_were_never_calculated_are_counted(tmp_path):
    file = tmp_path / "a.xlsx"

    def formulas(sheet):
        for row in range(2, 7):
            sheet.cell(row, 1).value = f"=B{row}*2"
        sheet["C2"].value = '="a"'

    _sheet(file, formulas)
    raw = sources.from_file(str(file), "y")
    _, described = normalise.normalise(raw)
    said = "formulas were never calculated, and are missing values, in 'x' (5), 'y' (1): open the"
    assert described["notes"][0].startswith(said)
    assert described["gaps"] == {"x": [0, 4]}  # the row without a target is left out
    assert (
        "column 'x' has 5 values treated as missing: 'formulas never calculated' (5)"
        in (described["notes"])
    )
    ((note,), none) = (rows.uncalculated(file, [name]) for name in "xz")
    assert note.startswith("formulas were never calculated, and are missing values, in 'x' (5): ")
    assert none == []


def test_formulas_with_a_saved_value_are_that_value(tmp_path):
    """As Excel writes them, also with an empty text as the result."""
    _sheet(tmp_path / "made.xlsx", lambda sheet: None)
    cells = {b"<v>1.5</v>": b"<f>1+0.5</f><v>1.5</v>", b'r="A2" t="n"': b'r="A2" t="str"'}
    cells[b"<v>0</v>"] = b"<f>IF(1,&quot;&quot;)</f><v></v>"
    with (
        zipfile.ZipFile(tmp_path / "made.xlsx") as made,
        zipfile.ZipFile(tmp_path / "saved.xlsx", "w") as saved,
    ):
        for name in made.namelist():
            content = made.read(name)
            if name == "xl/worksheets/sheet1.xml":
                for old, new in cells.items():
                    assert old in content
                    content = content.replace(old, new, 1)
            saved.writestr(name, content)
    raw = sources.from_file(str(tmp_path / "saved.xlsx"), "y")
    assert raw.frame["x"].tolist()[:2] == [None, 1.5]
    assert raw.notes == []


def test_excel_files_that_cost_too_much_cost_a_line(tmp_path, monkeypatch):
    _sheet(tmp_path / "far.xlsx", lambda sheet: sheet.cell(200, 100, 1))
    monkeypatch.setattr(file_limits, "MOST_CELLS", 10_000)
    with zipfile.ZipFile(tmp_path / "far.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    kinds = b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(6))
    start = b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">' + kinds + b"]>"
    sheet = (
        start + b'<worksheet><sheetData><row r="1"><c><v>&g;</v></c></row></sheetData></worksheet>'
    )
    with zipfile.ZipFile(tmp_path / "kinds.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, sheet if "sheet1" in name else content)
    shutil.copy(tmp_path / "far.xlsx", tmp_path / "large.xlsx")
    for name, message in [
        ("far", "rows of 100 columns or more"),
        ("kinds", "cannot be read"),
        ("large", "MB unpacked; at most "),
    ]:
        monkeypatch.setattr(file_limits, "LARGEST_MB", 0.02 if name == "large" else 2000)
        for read in (
            lambda name=name: sources.from_file(str(tmp_path / f"{name}.xlsx"), "y"),
            lambda name=name: list(rows.excel(tmp_path / f"{name}.xlsx", ["x"])),
        ):
            with pytest.raises(UserError, match=message):
                read()


@pytest.mark.parametrize("versions", [["1.1", "1.10"], ["2.9", "2.90", "10"]])
def test_versions_are_read_as_they_are_written_where_a_study_says_so(versions, tmp_path):
    """By default they are numbers, with a note: 1.1 and 1.10 may be prices, too."""
    words = (versions * 3)[:6]
    lines = [f"{word},{i},{'ab'[i % 2]}" for i, word in enumerate(words)]
    (tmp_path / "v.csv").write_text("\n".join(["version,x,y", *lines, ""]))
    raw = sources.from_file(str(tmp_path / "v.csv"), "y")
    frame, described = normalise.normalise(raw)
    assert frame["version"].tolist() == [float(word) for word in words]
    note = f"column 'version' has '{versions[0]}' and '{versions[1]}', which are the same number; "
    assert any(line.startswith(note) for line in described["notes"])
    frame, _ = normalise.normalise(raw, {"categorical": ["version"]})
    assert frame["version"].tolist() == words


@pytest.mark.parametrize(
    ("versions", "lone"),
    [(["1.8", "1.9", "1.10", "1.11"], "1.10"), (["3.9", "3.20", "10"], "3.20")],
)
def test_a_version_that_ends_in_0_has_a_note_without_its_twin(versions, lone, tmp_path):
    words = (versions * 3)[:6]
    lines = [f"{word},{i},{'ab'[i % 2]}" for i, word in enumerate(words)]
    (tmp_path / "v.csv").write_text("\n".join(["version,x,y", *lines, ""]))
    raw = sources.from_file(str(tmp_path / "v.csv"), "y")
    assert normalise.normalise(raw)[0]["version"].tolist() == [float(word) for word in words]
    assert raw.notes == [
        f"column 'version' has '{lone}', which is the number {lone[:-1]}, beside shorter ones; "
        "if they are names, read them as such with columns: {categorical: [version]}"
    ]
    assert normalise.normalise(raw, {"categorical": ["version"]})[0]["version"].tolist() == words


@pytest.mark.parametrize("words", [["1.10", "2.50", "4.15"], ["1.5", "2.50", "1.234567"], ["a.b0"]])
def test_zeros_that_are_no_versions_need_no_note(words, tmp_path):
    (tmp_path / "v.csv").write_text("v,y\n" + "".join(f"{word},a\n" for word in words * 3))
    assert sources.from_file(str(tmp_path / "v.csv"), "y").notes == []


def with_prices(words, folder):
    """Read a CSV file, and the same as a frame of text; return the notes about the prices."""
    words = (words * 24)[:24]
    frame = pd.DataFrame({"price": words, "x": [i / 8 for i in range(24)], "y": ["a", "b"] * 12})
    frame.to_csv(folder / "p.csv", index=False)
    frame.to_parquet(folder / "p.parquet")
    for name in ("p.csv", "p.parquet"):
        _, described = normalise.normalise(sources.from_file(str(folder / name), "y"))
        yield [note for note in described["notes"] if "thousands" in note]


@pytest.mark.parametrize("odd", [[], ["n/a"], ["-"]])
def test_points_that_may_separate_thousands_have_a_note(odd, tmp_path):
    """German prices from 200 to 12.500 are plain numbers in which the dearest are the lowest."""
    prices = ["950", "200", "1.200", "12.500", *odd, *(str(i) for i in range(90, 990, 50))]
    said = (
        "column 'price' has 1.200, read as a fraction, beside integers below 1000: if points "
        "separate thousands, write 1200"
    )
    unclear = "column 'price' stays categorical: values such as '950' may be read as numbers or "
    for notes in with_prices(prices, tmp_path):
        assert notes == [said] or (odd and len(notes) == 1 and notes[0].startswith(unclear))


@pytest.mark.parametrize(
    "words",
    [
        ["1.125", "212.250", "3.500"],  # all with three digits: thousands, too, keep their order
        ["1.125", "212", "3.5", "7", "8", "9"],
        ["1.125", "1200", "212", "3", "4", "5"],
        ["0.125", "1.250", "212", "3", "4", "5"],
        ["1.125", "2", "3", "4", "5", "6"],
    ],
)
def test_fractions_with_three_digits_need_no_note(words, tmp_path):
    for notes in with_prices(words, tmp_path):
        assert notes == []


def test_fractions_that_are_not_the_same_need_no_note(tmp_path):
    (tmp_path / "v.csv").write_text("price,count,y\n1.10,1,a\n2.50,1.0,b\n3.00,2,a\n1.15,3.0,b\n")
    raw = sources.from_file(str(tmp_path / "v.csv"), "y")
    assert raw.notes == []


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"PAR1\0\0", "it is a Parquet file; call it .parquet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "it is an old or encrypted spreadsheet; save it as .xlsx"),
        (b"sep=;\nx;y\n1;a\n", "line 1 of .* is for Excel; remove it: line 1 must name columns"),
    ],
)
def test_files_of_others_that_are_called_csv(start, message, tmp_path):
    (tmp_path / "v.csv").write_bytes(start)
    with pytest.raises(UserError, match=message):
        sources.from_file(str(tmp_path / "v.csv"), "y")


def test_packed_files_are_closed(tmp_path):
    (tmp_path / "v.csv.gz").write_bytes(gzip.compress(b"x,y\n1,a\n2,b\n"))
    with text_files.opened(tmp_path / "v.csv.gz") as stream:
        packed = stream.fileobj
    assert packed.closed


def test_what_is_wrong_with_a_sheet_is_named(tmp_path):
    def empty(sheet):
        sheet.insert_rows(1)

    def formulas(sheet):
        for row in range(2, 42):
            sheet.cell(row, 3, '=IF(A2>1,"a","b")')

    _sheet(tmp_path / "empty.xlsx", empty)
    _sheet(tmp_path / "formulas.xlsx", formulas)
    (tmp_path / "encrypted.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    for name, line in (
        ("empty", "row 1 of its first sheet is empty; it must name the columns"),
        ("formulas", r"target: formulas were never calculated, .* 'y' \(40\)"),
        ("encrypted", "it is not an Excel file, or encrypted; save it as"),
    ):
        with pytest.raises(UserError, match=line):
            sources.from_file(str(tmp_path / f"{name}.xlsx"), "y")


def test_parquet_columns_that_cannot_be_converted_are_named(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    file, labels = tmp_path / "a.parquet", pa.array(["a", "b"])
    far = pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"x": [1, 2], "day": far, "y": labels}), file)
    for read in (sources.from_file, lambda *_: list(rows.parquet(file, ["day"], 10))):
        with pytest.raises(UserError, match=r"column 'day' holds date32\[day\]: .*; convert it"):
            read(str(file), "y")
    pq.write_table(pa.table({"x\0": [1, 2], "y": labels}), file)
    with pytest.raises(UserError, match=r"the name of column 1 of .* holds a null character"):
        sources.from_file(str(file), "y")
    digits = pa.array([10**60, 10**60 + 1], pa.decimal256(76, 0))
    pq.write_table(pa.table({"x": [1, 2], "y": digits}), file)
    assert sources.from_file(str(file), "y").frame.y.tolist() == [10**60, 10**60 + 1]
    whole = pa.array([Decimal(10**20 + 1), Decimal(3)] * 3, pa.decimal128(38, 2))
    pq.write_table(pa.table({"x": whole, "y": pa.array(["a", "b"] * 3)}), file)
    _, described = normalise.normalise(sources.from_file(str(file), "y"))
    assert any("column 'x' has 3 integers beyond 2^53" in note for note in described["notes"])
