"""How scripts end with an error."""

import argparse

import pytest

from ensemble_search.jobs import Jobs
from ensemble_search.runtime import errors, signals


@pytest.fixture(autouse=True)
def this_process_goes_on(monkeypatch):
    """A script changes how options and signals are treated until it ends; later tests do not."""
    monkeypatch.setattr(argparse.ArgumentParser, "error", argparse.ArgumentParser.error)
    for name in ("on_signals", "no_more"):
        monkeypatch.setattr(signals, name, lambda: None)


def test_a_file_where_a_folder_should_be_costs_a_line(tmp_path, capsys):
    (tmp_path / "results").write_text("")
    with pytest.raises(SystemExit) as end:
        errors.run((tmp_path / "results/mine").mkdir)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith(
        "results/mine': Not a directory; fix that, and run the same command again\n"
    )


def test_one_of_a_kind_is_not_many():
    assert [errors.number_of(n, "search") for n in (0, 1, 2)] == ["0 searches", "1 search",
                                                                  "2 searches"]  # fmt: skip
    assert errors.number_of(1, "set of divisions") == "1 set of divisions"
    assert errors.number_of(3, "set of divisions") == "3 sets of divisions"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threads", "two"], "--threads: invalid int value: 'two'"),
        (["--threads"], "--threads: expected one argument"),
        (
            ["--treads", "2"],
            "unrecognized arguments: --treads 2; search.py --help lists the options",
        ),
    ],
)
def test_a_mistake_in_the_options_costs_a_line(options, said, capsys):
    parser = argparse.ArgumentParser("search.py")
    parser.add_argument("--threads", type=int)
    with pytest.raises(SystemExit) as end:
        errors.run(lambda: parser.parse_args(options))
    assert end.value.code == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def test_an_empty_name_of_a_study_names_the_variable():
    with pytest.raises(errors.UserError, match=r"^STUDY \(--study\): it is empty; name a study"):
        Jobs.load("")
