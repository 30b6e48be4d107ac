"""A finished study to be checked, damaged and read."""

import shutil

import pytest

from support import finished_study


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A finished study, made by the functions of its jobs."""
    folder = tmp_path_factory.mktemp("study")
    finished_study.make(folder)
    return folder


@pytest.fixture
def study(made, tmp_path, monkeypatch):
    """A copy of the study, and the present folder."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
