# Input of `make reproduce MANIFEST=...`, which reruns the study and compares.
rule manifest:
    input:
        SEARCHES,
        page=RESULTS / "report/index.html",
        tables=RESULTS / "report/tables",
        data=[f"{ROOT}/data/{key}/dataset.json" for key in JOBS.sources],
    output:
        RESULTS / "manifest.json",
    log:
        RESULTS / "logs/manifest.log",
    benchmark:
        RESULTS / "benchmarks/manifest.tsv"
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        record=lambda w: JOBS.record(),
        results=subpath(output[0], parent=True),
        code=lambda w: code_version("manifest"),
    shell:
        '{PYTHON} {SCRIPTS:q}/manifest.py --record {params.record:q} --openml "$ENSEMBLE_SEARCH_OPENML"'
        " --results {params.results} --output {output} 2> {log}"
