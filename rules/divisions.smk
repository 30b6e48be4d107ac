# Ensembles on random divisions of the held-out rows, if the study has the key `divisions:`.
DIVISIONS = (
    [
        layout.path(RESULTS, layout.DIVISIONS, dataset=d, search=s, repeat=r) / "divisions.parquet"
        for d in STUDY.datasets
        for s in STUDY.used("search")
        for r in range(STUDY.repeats)
    ]
    if STUDY.divisions
    else []
)


rule divisions:
    input:
        observations=of_search(f"{SEARCH}/observations.parquet"),
        validation=of_search(f"{PREDICTIONS}/predictions-validation.npy"),
        test=of_search(f"{PREDICTIONS}/predictions-test.npy"),
        split=of_search(f"{SPLIT}/split.json"),
        labels=ancient(of_search(f"{SPLIT}/test_labels.npy")),
        inputs=ancient(of_search(f"{SPLIT}/inputs.npz")),
    output:
        RESULTS / layout.DIVISIONS / "divisions.parquet",
    log:
        RESULTS / layout.log("divisions", layout.DIVISIONS),
    benchmark:
        RESULTS / layout.benchmark("divisions", layout.DIVISIONS)
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # Predictions, and a divided copy of them.
        mem_mb=lambda w, input, attempt: 1000 * attempt + int(3 * input.size_mb),
        runtime=lambda w, attempt: 240 * attempt,
    params:
        job=lambda w: JOBS.divisions(w.search),
        of=lambda w: JOBS.of(w.dataset, w.search),
        search=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        folder=subpath(output[0], parent=True),
        code=lambda w: JOBS.divisions_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/divisions.py --job {params.job:q} --of {params.of:q}"
        " --search {params.search} --split {params.split} --seed {wildcards.repeat}"
        " --output {params.folder:q} 2> {log}"
