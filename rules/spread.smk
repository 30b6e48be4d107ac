# How evenly designs cover a range, if the study has the key `spread:`.
SPREADS = (
    [
        layout.path(RESULTS, layout.SPREAD, sampler=sampler) / "spread.parquet"
        for sampler in SAMPLERS
    ]
    if STUDY.spread
    else []
)


wildcard_constraints:
    sampler="[^/]+",


rule spread:
    output:
        RESULTS / layout.SPREAD / "spread.parquet",
    log:
        RESULTS / layout.log("spread", layout.SPREAD),
    benchmark:
        RESULTS / layout.benchmark("spread", layout.SPREAD)
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        job=lambda w: JOBS.spread(w.sampler),
        code=lambda w: code_version("spread"),
    shell:
        "{PYTHON} {SCRIPTS:q}/spread.py --job {params.job:q} --output {output:q} 2> {log}"
