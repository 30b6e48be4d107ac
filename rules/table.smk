# Tables of evaluated configurations, if the study has the key `tables:`.
from ensemble_search.evaluation import table as tables

TABLES = (
    [
        layout.path(RESULTS, layout.TABLE, dataset=dataset, split=split) / name
        for dataset in STUDY.datasets
        for split in STUDY.splits
        for name in (tables.MANIFEST, *tables.FILES)
    ]
    if STUDY.tables
    else []
)


def searches_of_table(w):
    """Searches whose evaluations are added to a table: those on its split."""
    return [
        f"{SEARCH}/search.json".format(
            study=JOBS.home(w.dataset, search, repeat).study.study,
            dataset=w.dataset,
            search=search,
            repeat=repeat,
        )
        for search in STUDY.tables.searches
        for repeat in range(STUDY.repeats)
        if STUDY.split_name(repeat) == w.split
    ]


wildcard_constraints:
    shard=r"\d+",


if STUDY.tables:

    rule shard:
        input:
            json=RESULTS / layout.SPLIT / "split.json",
            inputs=ancient(RESULTS / layout.SPLIT / "inputs.npz"),
        output:
            observations=RESULTS / layout.SHARD / "observations.parquet",
            validation=RESULTS / layout.SHARD / "predictions-validation.npy",
            test=RESULTS / layout.SHARD / "predictions-test.npy",
            json=RESULTS / layout.SHARD / "search.json",
        log:
            RESULTS / layout.log("shard", layout.SHARD),
        benchmark:
            RESULTS / layout.benchmark("shard", layout.SHARD)
        conda:
            "../envs/ensemble-search.yaml"
        threads: STUDY.workers
        resources:
            mem_mb=lambda w, input, attempt: (
                (STUDY.limits.memory_mb + 1000) * STUDY.workers
                + 1000 * (attempt - 1)
                + int(input.size_mb)
            ),
            runtime=lambda w, attempt: 480 * attempt,
        params:
            job=lambda w: JOBS.shard(w.dataset, w.shard),
            split=subpath(input.json, parent=True),
            checkpoints=f"{RESULTS}/{layout.SHARD_CHECKPOINTS}",
            folder=subpath(output.json, parent=True),
            code=lambda w: JOBS.configurations_code(),
        shell:
            "{PYTHON} {SCRIPTS:q}/search.py --job {params.job:q} --split {params.split}"
            " --checkpoints {params.checkpoints} --output {params.folder:q} --threads {threads}"
            " --workers {STUDY.workers} {SHARE}"
            " 2> {log}"

    rule table:
        input:
            [
                f"{RESULTS}/{layout.SHARD}/search.json".replace("{shard}", str(s))
                for s in JOBS.shards
            ],
            searches_of_table,
        output:
            observations=RESULTS / layout.TABLE / "observations.parquet",
            validation=RESULTS / layout.TABLE / "predictions-validation.npy",
            test=RESULTS / layout.TABLE / "predictions-test.npy",
            json=RESULTS / layout.TABLE / "table.json",
        log:
            RESULTS / layout.log("table", layout.TABLE),
        benchmark:
            RESULTS / layout.benchmark("table", layout.TABLE)
        localrule: True
        conda:
            "../envs/ensemble-search.yaml"
        threads: 1
        resources:
            mem_mb=8000,
            runtime=30,
        params:
            folders=lambda w, input: [str(Path(file).parent) for file in input],
            folder=subpath(output.json, parent=True),
            code=lambda w: code_version("table"),
        shell:
            "{PYTHON} {SCRIPTS:q}/table.py --output {params.folder:q}"
            " {params.folders:q} 2> {log}"
