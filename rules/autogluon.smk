# AutoGluon, if the study has the key `autogluon:`. It runs in the rule's conda environment, or in
# that of `make autogluon`; without either, the result is `not run`.
AUTOGLUON = (
    [
        layout.path(RESULTS, layout.AUTOGLUON, dataset=dataset) / "scores.json"
        for dataset in STUDY.datasets
    ]
    if STUDY.autogluon
    else []
)
OWN_PYTHON = BASE / ".venv-autogluon/bin/python"
AUTOGLUON_PYTHON = PYTHON
if "CONDA" not in METHODS and OWN_PYTHON.exists():
    AUTOGLUON_PYTHON = f"{CHILD} {shlex.quote(str(OWN_PYTHON))}"


rule autogluon:
    input:
        json=f"{SPLIT_0}/split.json",
        inputs=ancient(f"{SPLIT_0}/inputs.npz"),
        labels=ancient(f"{SPLIT_0}/test_labels.npy"),
    output:
        RESULTS / layout.AUTOGLUON / "scores.json",
    log:
        RESULTS / layout.log("autogluon", layout.AUTOGLUON),
    benchmark:
        RESULTS / layout.benchmark("autogluon", layout.AUTOGLUON)
    conda:
        "../envs/autogluon.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        # It may exceed its limit: it does not interrupt the model being fitted.
        runtime=lambda w: int(STUDY.autogluon.seconds / 30) + 30,
    params:
        seconds=STUDY.autogluon.seconds if STUDY.autogluon else 0,
        metric=STUDY.metric,
        split=subpath(input.json, parent=True),
        # Reruns once the environment exists.
        environment="present" if "CONDA" in METHODS or OWN_PYTHON.exists() else "absent",
        code=lambda w: code_version("run_autogluon"),
    shell:
        "{AUTOGLUON_PYTHON} {SCRIPTS:q}/run_autogluon.py --split {params.split}"
        " --metric {params.metric} --seconds {params.seconds} --threads {threads} --memory-mb {resources.mem_mb}"
        " --output {output:q} 2> {log} >&2"
