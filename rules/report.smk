# What the methods need, of every data set and repeat.
SEARCHES = runs(f"{RESULTS}/searches/{{dataset}}/{{search}}/{{repeat}}/search.json")
SCORES = runs(f"{RESULTS}/ensembles/{{dataset}}/{{search}}/{{ensemble}}/{{repeat}}/scores.parquet")


rule report:
    input:
        SEARCHES,
        SCORES,
        # Parts of the page that are no Python code, and so have no part in its version.
        f"{SCRIPTS}/divbo/report/template.html",
        f"{SCRIPTS}/divbo/report/page.html",
        f"{SCRIPTS}/divbo/report/macros.html",
        f"{SCRIPTS}/divbo/report/style.css",
    output:
        page=report(RESULTS / "report/index.html", caption="captions/report.rst", category="Report"),
        pages=report(
            directory(RESULTS / "report/pages"),
            patterns=["{page}.html"],
            caption="captions/report.rst",
            category="Report",
        ),
        figures=report(
            directory(RESULTS / "report/figures"),
            patterns=["{figure}.svg"],
            caption="captions/figure.rst",
            category="Figures",
        ),
        tables=report(
            directory(RESULTS / "report/tables"),
            patterns=["{table}.csv"],
            caption="captions/table.rst",
            category="Tables",
        ),
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
    params:
        study=TASKS.report(),
        code=lambda w: TASKS.report_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/report.py --study {params.study:q} --results {RESULTS}"
        " --output {RESULTS}/report 2> {log}"
