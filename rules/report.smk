rule report:
    input:
        runs(f"{RESULTS}/searches/{{dataset}}/{{search}}/{{repeat}}/search.json"),
        runs(f"{RESULTS}/ensembles/{{dataset}}/{{search}}/{{ensemble}}/{{repeat}}/scores.parquet"),
    output:
        RESULTS / "report/index.html",
    params:
        study=TASKS.report(),
        code=lambda w: code_version("report"),
    log:
        RESULTS / "logs/report.log",
    benchmark:
        RESULTS / "benchmarks/report.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    shell:
        "{PYTHON} {SCRIPTS}/report.py --study {params.study:q} --results {RESULTS}"
        " --output {RESULTS}/report 2> {log}"
