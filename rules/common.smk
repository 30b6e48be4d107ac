import gc
import json
import os
import re
import shlex
import sys
from contextlib import suppress
from types import SimpleNamespace

from snakemake.path_modifier import PathModifier

# The folder of this workflow, even if it is a module of another one.
BASE = Path(str(workflow.current_basedir)).parent
if not (BASE / "workflow_scripts").is_dir():
    sys.exit(
        "error: the scripts are not beside the Snakefile: Snakemake loads no scripts from a remote "
        "repository; clone it, and name the Snakefile of the clone"
    )
sys.path.insert(0, str(BASE / "workflow_scripts"))

from ensemble_search.data import fetched
from ensemble_search.dpp.coverage import SAMPLERS
from ensemble_search.results import layout
from ensemble_search.runtime import outside, slurm
from ensemble_search.runtime.code_version import code_version
from ensemble_search.runtime.errors import UserError, one_line
from ensemble_search.runtime.locks import WAIT, lock
from ensemble_search.jobs import Jobs, check_plugins, check_splits, check_tables, notes
from ensemble_search.study import model as studies

# The garbage collector need not search the libraries' objects, either now or when Snakemake ends.
gc.freeze()

# Scripts run in Snakemake's environment, or in the conda environment of the rule.
METHODS = {method.name for method in workflow.deployment_settings.deployment_method}
PYTHON = "python" if "CONDA" in METHODS else shlex.quote(sys.executable)
# With exec and this process's id, a script is a child of this process, and ends with it. LightGBM
# needs its docstrings, and library warnings must not be errors, whatever the caller's environment.
CHILD = f"exec env PYTHONOPTIMIZE= PYTHONWARNINGS= ENSEMBLE_SEARCH_PARENT={os.getpid()}"
SCRIPTS = os.path.relpath(BASE / "workflow_scripts")

if set("{}") & set(str(BASE)):
    sys.exit(
        f"error: '{BASE}' has braces in its path, which Snakemake reads as wildcards; rename the "
        "folder"
    )
# Searches, the report and `make status` read and write whole folders of results, so all are local.
if workflow.storage_settings.default_storage_provider:
    workflow.storage_settings.default_storage_provider = None
    if workflow.is_main_process:
        print("note: results stay local files: no storage provider is used", file=sys.stderr)


def root_of_module():
    """The folder of a module's results: `results`, or what its `prefix:` makes of that.

    Snakemake would add the prefix to inputs and outputs, but not to parameters. Here, all paths
    begin with the returned folder, and Snakemake adds nothing.
    """
    root = workflow.modifier.path_modifier.replace_prefix("results/")
    if not re.fullmatch(r"[\w./-]+", root):
        raise UserError(
            f"module: prefix: '{root}' may have only letters, digits and . _ - /; change the prefix"
        )
    workflow.modifier.path_modifier = PathModifier(None, None, workflow)
    return Path(root)


def load_jobs():
    """The study of --configfile, or else of config.yaml, overridden by --config.

    For a module, the study in its `config:`.
    """
    if not workflow.modifier.is_main_snakefile():
        content = studies.load_content(dict(config), "module")
        return Jobs(content, "module", root=root_of_module())
    settings = workflow.config_settings
    if len(settings.configfiles) > 1:
        raise UserError("--configfile: name one study; studies are not merged")
    if settings.configfiles:
        file = settings.configfiles[0]
    else:
        file = Path("config.yaml")
        file = file if file.exists() else BASE / file
    file = os.path.relpath(file)
    return Jobs.load(file, dict(settings.config))


try:
    JOBS = load_jobs()
except UserError as error:
    sys.exit(f"error: {error}")
if folders := os.environ.get(outside.VARIABLE):  # set from the study; also in printed commands
    CHILD += f" {outside.VARIABLE}={shlex.quote(folders)}"
PYTHON = f"{CHILD} {PYTHON}"

STUDY = JOBS.study
# Searches shared with the extended study belong to it: same jobs, parameters and files, whichever
# study runs first.
JOBS_OF = {STUDY.study: JOBS}
if JOBS.shared:
    JOBS_OF[JOBS.extended.study.study] = JOBS.extended
ROOT = JOBS.root
RESULTS = ROOT / STUDY.study
for folder in (ROOT, RESULTS):
    if folder.exists() and not folder.is_dir():
        sys.exit(f"error: '{folder}' is a file; results go into a folder of that name, move it")
    if folder.is_symlink() and not folder.exists():
        sys.exit(
            f"error: '{folder}' is a link to '{os.readlink(folder)}', and there is no such folder; "
            "make it, or remove the link"
        )
# Access to OpenML affects no result, so it is not among the parameters that Snakemake compares.
os.environ["ENSEMBLE_SEARCH_OPENML"] = STUDY.openml.model_dump_json()
if workflow.remote_exec:
    os.environ[WAIT] = "1"
if workflow.is_main_process:
    try:
        check_plugins(f"{JOBS.file}: plugins")
        check_tables(JOBS)
        for note in notes(JOBS):
            print(f"note: {one_line(note)}", file=sys.stderr)
    except UserError as error:  # a damaged result
        sys.exit(f"error: {error}")


def share_names():
    """Define the names used in shell commands in the workflow that uses this one as a module.

    Snakemake 9 formats commands with names of the main workflow.
    """
    parent = workflow.modifier.parent_modifier.globals
    other = parent.get("JOBS", JOBS)
    if (other.study, other.root) != (STUDY, ROOT):
        sys.exit("error: module: a workflow can have one study as a module")
    for name in ("PYTHON", "AUTOGLUON_PYTHON", "SCRIPTS", "STUDY", "JOBS", "NEEDS", "SHARE"):
        if name in globals():
            parent[name] = globals()[name]


wildcard_constraints:
    study="|".join(map(re.escape, JOBS_OF)),
    source="[^/]+",
    dataset="[^/]+",
    split=r"fixed|repeat-\d+",
    search="[^/]+",
    ensemble="[^/]+",
    repeat=r"\d+",


def lock_results():
    """Lock all studies whose files are written, for the lifetime of this process."""
    global LOCKS
    made = {getattr(job.wildcards, "study", None) for job in workflow.dag.needrun_jobs()}
    LOCKS = [lock_study(name) for name in JOBS_OF if name == STUDY.study or name in made]


def check_kept_splits():
    """Check the existing splits that this run keeps."""
    kept = (
        (JOBS_OF[job.wildcards.study], job.wildcards.dataset, job.wildcards.split)
        for job in workflow.dag.jobs
        if job.rule.name == "split" and not workflow.dag.needrun(job)
    )
    try:
        check_splits(JOBS, kept)
    except UserError as error:
        sys.exit(f"error: {error}")


def cancel_leftovers():
    """Cancel cluster jobs left by a killed workflow; their searches resume in this one."""
    searches = {
        slurm.search_comment(*map(job.wildcards.get, ("study", "dataset", "search", "repeat")))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "search"
    }
    if count := slurm.cancel(searches):
        print(f"note: ended {count} jobs of an earlier run; they continue", file=sys.stderr)


def lock_study(name):
    """Lock the results of a study."""
    folder = ROOT / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return lock(folder / ".lock", f"the study in '{folder}'")
    except UserError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: cannot write '{folder}': {error.strerror}")


# Folders of a search and of its split.
SEARCH = f"{ROOT}/{{study}}/{layout.SEARCH}"
SPLIT = f"{ROOT}/{{study}}/{layout.SPLIT}"
# Folder with the predictions of a search: its own, or the table that it is replayed on.
PREDICTIONS = STUDY.evaluation.table("{dataset}", "{split}") or SEARCH
# Ensembles that refit pipelines. Their jobs are long; those of other ensembles take half a second.
FITTING = [name for name in STUDY.ensembles if JOBS.refits(name)]
NOT_FITTING = "|".join(re.escape(n) for n in STUDY.ensembles if n not in FITTING) or "(?!)"
# The split for jobs that run once per data set.
SPLIT_0 = f"{RESULTS}/{layout.SPLIT}".replace("{split}", STUDY.split_name(0))


# Requirements of these ensembles on a split. Not a parameter, as it does not change the split.
NEEDS = f"--ensembles {shlex.quote(json.dumps(JOBS.refitted))}" if JOBS.refitted else ""
# Shared evaluations. Not a parameter, which Snakemake would compare, as it changes no result.
SHARE = f"--share {RESULTS}/{layout.EVALUATIONS}" if STUDY.evaluation.share else ""
if STUDY.evaluation.tables:
    SHARE += f" --tables {shlex.quote(STUDY.evaluation.tables)}"


def home(w):
    """The study that a search belongs to."""
    return JOBS.home(w.dataset, w.search, w.repeat).study.study


def of_repeat(pattern):
    """Input of a search: the pattern with the split of its repeat.

    Returns a function only if a pattern does not suffice: there are thousands of searches.
    """
    if isinstance(STUDY.split.resample, str):
        return pattern.replace("{split}", STUDY.split_name("{repeat}"))
    return lambda w: pattern.format(split=STUDY.split_name(w.repeat), **dict(w.items()))


def of_warm_start(w):
    """Input of a search: the table that it starts from, if any."""
    return JOBS_OF[w.study].warm_start(w.dataset, w.search, w.repeat)


# A function only if some search starts from a table.
WARM_START = of_warm_start if any(j.study.evaluation.warm_start for j in JOBS_OF.values()) else []


def of_search(pattern):
    """Input of an ensemble: the pattern with the split of its search, and the search's study.

    Returns a function only if a pattern does not suffice: there are thousands of ensembles.
    """
    if not JOBS.shared:
        return of_repeat(pattern.replace("{study}", STUDY.study))
    return lambda w: pattern.format(
        study=home(w), split=STUDY.split_name(w.repeat), **dict(w.items())
    )
