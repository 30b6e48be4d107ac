"""How scripts end with an error."""

import pytest

from ensemble_search.runtime import errors


def test_a_file_where_a_folder_should_be_costs_a_line(tmp_path, capsys):
    (tmp_path / "results").write_text("")
    with pytest.raises(SystemExit) as end:
        errors.run((tmp_path / "results/mine").mkdir)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith(
        "results/mine': Not a directory; fix that, and run the same command again\n"
    )
