"""Run a study again from its manifest, and compare the tables.

    python workflow_scripts/reproduce.py results/quickstart/manifest.json --cores 2

Exit status 0 if all tables are equal, 1 if the data or a table differs. If interrupted, run the
same command again to resume.
"""

if __name__ == "__main__":  # first: Ctrl-C may come during the imports
    from ensemble_search.runtime import signals

    signals.while_importing()

import argparse
import subprocess
import sys
from pathlib import Path

import yaml

from ensemble_search.data.sources import source_key
from ensemble_search.results import manifest, reproduction
from ensemble_search.runtime import errors, files
from ensemble_search.runtime.errors import UserError

SNAKEFILE = Path(__file__).resolve().parents[1] / "Snakefile"


def main() -> None:
    """Print what differs here, run the study, compare the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("manifest", type=Path, help="manifest.json of a study")
    parser.add_argument("--cores", default="all", help="number of cores (default: all)")
    parser.add_argument("--folder", type=Path, help="folder to run the study in "
                        "(default: reproduced/<study>-<8 digits of its hash>)")  # fmt: skip
    parser.add_argument("--trust", action="store_true",
                        help="run the code of plugins that the manifest contains")  # fmt: skip
    parser.add_argument("options", nargs="*",
                        help="further options of snakemake, after -- and the manifest")  # fmt: skip
    arguments = parser.parse_args()
    if not arguments.manifest.name:  # make passes empty text for a variable without a value
        raise UserError(
            "the manifest is missing: make reproduce MANIFEST=results/<study>/manifest.json"
        )
    made = reproduction.read(arguments.manifest)
    name = made["study"]["study"]
    there = arguments.manifest.parent / "report/tables"
    reproduction.originals(made, there)
    home = _home(arguments.manifest)
    folder = arguments.folder or Path("reproduced", f"{name}-{made['study_hash'][:8]}")
    if folder.resolve() == home:
        raise UserError(f"--folder: the study itself ran in '{folder}'; name another one")
    if not arguments.folder and folder.is_symlink():
        raise UserError(f"'{folder}' is a link; remove it, or name another folder as --folder")
    reproduction.check_folder(folder, name)

    reproduction.write_plugins(made, folder, arguments.trust)
    content, notes = reproduction.study(made, home, folder.resolve())
    with files.atomic(folder / "study.yaml") as temporary:
        temporary.write_text(
            yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8"
        )
    print(f"The study '{name}' of {made['written']} is run again in {folder}")
    for line in [*reproduction.differences(made), *notes] or ["nothing differs here"]:
        print(f"  {line}")
    run = ["--configfile", "study.yaml", "--cores", arguments.cores, *arguments.options]
    snakemake(folder, *run, "--until", "fetch")
    sources = {n: source_key(_written(d)) for n, d in content["datasets"].items()}
    data = manifest.data(sources, folder / "results/data")
    if lines := reproduction.unlike_data(made, data):
        print("\n".join([*lines, "The data are not those of the manifest; nothing else was run."]))
        sys.exit(1)
    snakemake(folder, *run)
    compared = reproduction.compare(there, folder / "results" / name / "report/tables")
    for table, result in compared.items():
        print(f"  {table}: {result}")
    unlike = sum(not result.equal for result in compared.values())
    if unlike:
        print(f"{unlike} of {len(compared)} tables differ.")
        sys.exit(1)
    print(f"All {len(compared)} tables are equal (columns of time and memory were not compared).")


def _home(file: Path) -> Path:
    """Return the folder that a study ran in, from the path of its manifest."""
    above = file.resolve().parents
    if len(above) < 3:
        raise UserError(f"'{file}' must lie in results/<study>/, below the folder of its data")
    return above[2]


def snakemake(folder: Path, *options: str) -> None:
    """Run the workflow in a folder; exit with its status if it fails."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
    sys.stdout.flush()
    ended = subprocess.run([*command, "--quiet", "rules", *options], cwd=folder, check=False)
    if ended.returncode:
        sys.exit(ended.returncode)


def _written(source: dict) -> dict:
    return {key: value for key, value in source.items() if value is not None}


if __name__ == "__main__":
    errors.run(main)
