# AutoGluon itself, where the study asks for it (`autogluon:`). It runs in the conda environment of
# the rule, or in the one that `make autogluon` makes; without either it writes that it has not run.
AUTOGLUON = (
    [f"{RESULTS}/autogluon/{dataset}/scores.json" for dataset in STUDY.datasets]
    if STUDY.autogluon
    else []
)
OWN_PYTHON = Path(workflow.basedir) / ".venv-autogluon/bin/python"
AUTOGLUON_PYTHON = PYTHON
if "CONDA" not in METHODS and OWN_PYTHON.exists():
    AUTOGLUON_PYTHON = f"{CHILD} {shlex.quote(str(OWN_PYTHON))}"


rule autogluon:
    input:
        json=f"{RESULTS}/splits/{{dataset}}/{STUDY.split_name(0)}/split.json",
        inputs=ancient(f"{RESULTS}/splits/{{dataset}}/{STUDY.split_name(0)}/inputs.npz"),
        labels=ancient(f"{RESULTS}/splits/{{dataset}}/{STUDY.split_name(0)}/test_labels.npy"),
    output:
        RESULTS / "autogluon/{dataset}/scores.json",
    log:
        RESULTS / "logs/autogluon/{dataset}.log",
    benchmark:
        RESULTS / "benchmarks/autogluon/{dataset}.tsv"
    conda:
        "../envs/autogluon.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        # It may take longer than its limit: a model that is being fitted is not stopped at once.
        runtime=lambda w: int(STUDY.autogluon.seconds / 30) + 30,
    params:
        seconds=STUDY.autogluon.seconds if STUDY.autogluon else 0,
        split=subpath(input.json, parent=True),
        # Runs again once the environment is there.
        environment="present" if "CONDA" in METHODS or OWN_PYTHON.exists() else "absent",
        code=lambda w: code_version("run_autogluon"),
    shell:
        "{AUTOGLUON_PYTHON} {SCRIPTS:q}/run_autogluon.py --split {params.split}"
        " --seconds {params.seconds} --threads {threads} --memory-mb {resources.mem_mb}"
        " --output {output:q} 2> {log} >&2"
