# The runs that the methods need: every data set and repeat.
RUNS = [
    SimpleNamespace(dataset=d, search=m.search, ensemble=m.ensemble, repeat=r)
    for d in STUDY.datasets
    for m in STUDY.methods.values()
    for r in range(STUDY.repeats)
]
SEARCHES = sorted({f"{SEARCH}/search.json".format(study=home(w), **vars(w)) for w in RUNS})
SCORES = sorted(f"{RESULTS}/{layout.ENSEMBLE}/scores.parquet".format(**vars(w)) for w in RUNS)

# The only page that Snakemake's own report can show: the others have links to files.
WHOLE = {}
if STUDY.report.single_file:
    WHOLE["whole"] = report(
        RESULTS / "report/whole.html", caption="captions/report.rst", category="Report"
    )


rule report:
    input:
        SEARCHES,
        SCORES,
        SURROGATES,
        SPREADS,
        DIVISIONS,
        AUTOGLUON,
        # For the page on data sets; the splits are inputs of the searches.
        [f"{ROOT}/data/{key}/dataset.json" for key in JOBS.sources],
        # Parts of the report that are not Python code, so the code version does not cover them.
        f"{SCRIPTS}/ensemble_search/report/base.html",
        f"{SCRIPTS}/ensemble_search/report/template.html",
        f"{SCRIPTS}/ensemble_search/report/page.html",
        f"{SCRIPTS}/ensemble_search/report/macros.html",
        f"{SCRIPTS}/ensemble_search/report/style.css",
        f"{SCRIPTS}/ensemble_search/report/script.js",
        sorted(map(str, Path(SCRIPTS, "ensemble_search/papers").glob("*/*.yaml"))),
    output:
        **WHOLE,
        page=RESULTS / "report/index.html",
        pages=directory(RESULTS / "report/pages"),
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
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    # For a small report, starting processes takes longer than making it.
    threads: 4 if len(RUNS) >= 100 else 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        study=lambda w: JOBS.report(),
        results=subpath(output.page, ancestor=2),
        code=lambda w: JOBS.report_code(),
    shell:
        "{PYTHON} {SCRIPTS:q}/report.py --study {params.study:q} --study-file {JOBS.file:q}"
        # Snakemake deletes the outputs of a failed job, so an incomplete report goes elsewhere.
        " --results {params.results} --output {params.results}/report"
        " --incomplete {params.results}/partial-report"
        " --threads {threads} 2> {log}"
