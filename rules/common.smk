import os
import re
import shlex
import sys
from contextlib import suppress
from types import SimpleNamespace

sys.path.insert(0, str(Path(workflow.basedir) / "workflow_scripts"))

from divbo import readers, slurm
from divbo.code_version import code_version
from divbo.errors import UserError, one_line
from divbo.locks import WAIT, lock
from divbo.tasks import Tasks, notes

# Scripts run in the environment that Snakemake runs in, or in the conda environment of the rule.
METHODS = {method.name for method in workflow.deployment_settings.deployment_method}
PYTHON = "python" if "CONDA" in METHODS else shlex.quote(sys.executable)
# exec and the number of this process: a script is its child, and ends with it. Libraries need their
# docstrings (LightGBM), and their warnings are no errors, whatever the caller's environment says.
CHILD = f"exec env PYTHONOPTIMIZE= PYTHONWARNINGS= DIVBO_PARENT={os.getpid()}"
PYTHON = f"{CHILD} {PYTHON}"
SCRIPTS = os.path.relpath(Path(workflow.basedir) / "workflow_scripts")


def load_tasks():
    """The study of --configfile, or else of config.yaml, with --config on top of it."""
    settings = workflow.config_settings
    if len(settings.configfiles) > 1:
        raise UserError("--configfile: name one study; studies are not merged")
    if settings.configfiles:
        file = settings.configfiles[0]
    else:
        file = Path("config.yaml")
        file = file if file.exists() else Path(workflow.basedir) / file
    file = os.path.relpath(file)
    return Tasks.load(file, dict(settings.config))


try:
    TASKS = load_tasks()
except UserError as error:
    sys.exit(f"error: {error}")

STUDY = TASKS.study
# Searches that are the same in the study that this one extends are that study's: the same jobs,
# told the same, with the same files, whichever of the two runs first.
TASKS_OF = {STUDY.study: TASKS}
if TASKS.shared:
    TASKS_OF[TASKS.extended.study.study] = TASKS.extended
RESULTS = Path("results") / STUDY.study
for folder in (Path("results"), RESULTS):
    if folder.exists() and not folder.is_dir():
        sys.exit(f"error: '{folder}' is a file; results go into a folder of that name, move it")
# How OpenML is reached changes no result: it goes past the parameters that Snakemake compares.
os.environ["DIVBO_OPENML"] = STUDY.openml.model_dump_json()
# Nor do limits that a search is known to be the same with (Tasks.search).
os.environ["DIVBO_LIMITS"] = STUDY.limits.model_dump_json()
if workflow.remote_exec:
    os.environ[WAIT] = "1"
if workflow.is_main_process:
    try:
        for note in notes(TASKS):
            print(f"note: {one_line(note)}", file=sys.stderr)
    except UserError as error:  # a damaged result
        sys.exit(f"error: {error}")


wildcard_constraints:
    study="|".join(map(re.escape, TASKS_OF)),
    source="[^/]+",
    dataset="[^/]+",
    split=r"fixed|repeat-\d+",
    search="[^/]+",
    ensemble="[^/]+",
    repeat=r"\d+",


def lock_results():
    """Hold the locks of all studies whose files are made, for as long as this process lives."""
    global LOCKS
    made = {getattr(job.wildcards, "study", None) for job in workflow.dag.needrun_jobs()}
    LOCKS = [lock_study(name) for name in TASKS_OF if name == STUDY.study or name in made]


def cancel_leftovers():
    """End searches that a killed workflow has left on the cluster; they go on in this one."""
    searches = {
        slurm.search_comment(*map(job.wildcards.get, ("study", "dataset", "search", "repeat")))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "search"
    }
    if count := slurm.cancel(searches):
        print(f"note: ended {count} jobs of an earlier run; they continue", file=sys.stderr)


def lock_study(name):
    """Lock the results of a study."""
    folder = Path("results") / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return lock(folder / ".lock", f"the study in '{folder}'")
    except UserError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: cannot write '{folder}': {error.strerror}")


# Where a search, and the split that it uses, lie.
SEARCH = "results/{study}/searches/{dataset}/{search}/{repeat}"
SPLIT = f"results/{{study}}/splits/{{dataset}}/{STUDY.split_name('{repeat}')}"


def home(w):
    """The study that a search belongs to."""
    return TASKS.home(w.dataset, w.search, w.repeat).study.study


def of_search(pattern):
    """What an ensemble reads: the pattern in the study that its search belongs to.

    A function only where that is not always the same one: there are thousands of ensembles.
    """
    if not TASKS.shared:
        return pattern.replace("{study}", STUDY.study)
    return lambda w: pattern.format(study=home(w), **dict(w.items()))
