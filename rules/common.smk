import os
import shlex
import sys

sys.path.insert(0, str(Path(workflow.basedir) / "workflow_scripts"))

from divbo import study as studies
from divbo.code_version import code_version
from divbo.errors import UserError
from divbo.search.journal import lock
from divbo.tasks import Tasks

# Scripts run in the environment that Snakemake runs in, or in the conda environment of the rule.
METHODS = {method.name for method in workflow.deployment_settings.deployment_method}
PYTHON = "python" if "CONDA" in METHODS else shlex.quote(sys.executable)
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
    return Tasks(studies.load(file, dict(settings.config)), file)


try:
    TASKS = load_tasks()
except UserError as error:
    sys.exit(f"error: {error}")

STUDY = TASKS.study
RESULTS = Path("results") / STUDY.study
for folder in (Path("results"), RESULTS):
    if folder.exists() and not folder.is_dir():
        sys.exit(f"error: '{folder}' is a file; results go into a folder of that name, move it")
# How OpenML is reached changes no result: it goes past the parameters that Snakemake compares.
os.environ["DIVBO_OPENML"] = STUDY.openml.model_dump_json()


wildcard_constraints:
    source="[^/]+",
    dataset="[^/]+",
    split=r"fixed|repeat-\d+",
    search="[^/]+",
    ensemble="[^/]+",
    repeat=r"\d+",


def lock_results():
    """Hold the study's lock for as long as this process lives."""
    global LOCK
    try:
        RESULTS.mkdir(parents=True, exist_ok=True)
        LOCK = lock(RESULTS / ".lock", f"the study in '{RESULTS}'")
    except UserError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: cannot write '{RESULTS}': {error.strerror}")


def split_folder(w):
    """The split that a search uses."""
    return RESULTS / "splits" / w.dataset / STUDY.split_name(int(w.repeat))


def runs(path):
    """A path for every data set and repeat, and for the searches and ensembles of the methods."""
    return sorted(
        {
            path.format(dataset=d, search=m.search, ensemble=m.ensemble, repeat=r)
            for d in STUDY.datasets
            for m in STUDY.methods.values()
            for r in range(STUDY.repeats)
        }
    )
