"""What several tests share: paths, small studies and spaces, stand-ins for slow or remote parts."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow_scripts"
TESTS = ROOT / "tests"
#: Development copies of OpenML's data sets, in the layout of the client's cache; not everywhere.
OPENML_COPIES = ROOT.parent / "shared/openml"
#: Why tests of these are skipped.
NO_COPIES = "the development copies of OpenML data sets are not on this machine"
#: Study files of the repository, by name.
ALL_STUDIES = {file.stem: file for file in sorted((ROOT / "studies").rglob("*.yaml"))}
#: Those that can be read: some need data files that users put into torgo/.
STUDIES = {
    name: file
    for name, file in ALL_STUDIES.items()
    if "torgo" not in name or (ROOT / "torgo").is_dir()
}
#: For processes that import the package, the scripts and what is here.
PYTHONPATH = os.pathsep.join([str(SCRIPTS), str(TESTS)])
