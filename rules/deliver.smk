# The ensemble of a method as a folder that predicts new rows, if the study has the key `deliver:`.
DELIVERED = []
if STUDY.deliver:
    if STUDY.deliver.test and workflow.is_main_process and not Path(STUDY.deliver.test).is_file():
        sys.exit(
            one_line(f"error: {JOBS.file}: deliver.test: there is no file '{STUDY.deliver.test}'")
        )
    DELIVERED = [
        layout.path(RESULTS, layout.DELIVERED, dataset=d, method=STUDY.deliver.method)
        for d in STUDY.deliver.datasets or STUDY.datasets
    ]
DELIVERED_SEARCH = STUDY.methods[STUDY.deliver.method].search if STUDY.deliver else ""


def delivered(pattern):
    """Input of a delivery: the pattern for its search."""
    fields = {"search": DELIVERED_SEARCH, "repeat": STUDY.deliver.repeat if STUDY.deliver else 0}

    def files(w):
        job = SimpleNamespace(dataset=w.dataset, **fields)
        split = STUDY.split_name(fields["repeat"])
        return pattern.format(study=home(job), split=split, dataset=w.dataset, **fields)

    return files


rule deliver:
    input:
        observations=delivered(f"{SEARCH}/observations.parquet"),
        validation=delivered(f"{PREDICTIONS}/predictions-validation.npy"),
        test=delivered(f"{PREDICTIONS}/predictions-test.npy"),
        split=delivered(f"{SPLIT}/split.json"),
        preparation=ancient(delivered(f"{SPLIT}/preparation.json")),
        labels=ancient(delivered(f"{SPLIT}/test_labels.npy")),
        inputs=ancient(delivered(f"{SPLIT}/inputs.npz")),
        dataset=lambda w: ancient(f"{ROOT}/data/{JOBS.source_key(w.dataset)}/dataset.parquet"),
    output:
        directory(RESULTS / layout.DELIVERED),
    log:
        RESULTS / layout.log("deliver", layout.DELIVERED),
    benchmark:
        RESULTS / layout.benchmark("deliver", layout.DELIVERED)
    wildcard_constraints:
        method="[^/]+",
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: STUDY.limits.memory_mb + 2000 * attempt,
        runtime=lambda w, attempt: 480 * attempt,
    params:
        job=lambda w: JOBS.deliver(w.dataset),
        search=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        data=subpath(input.dataset, parent=True),
        # Not an input: Snakemake would treat braces in its name as wildcards, and would not notice
        # an older file in its place.
        test=lambda w: JOBS.deliver_test(),
        code=lambda w: JOBS.deliver_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/deliver.py --search {params.search} --split {params.split}"
        " --dataset {params.data:q} --job {params.job:q} --study-file {JOBS.file:q} --output {output:q}"
        " --threads {threads} 2> {log}"
