# OpenML is asked for few data sets at a time, unless `--resources downloads=` says otherwise.
workflow.global_resources.setdefault("downloads", 2)


def split_memory(w, input):
    """Megabytes to split a data set: its prepared columns, and half as much to make them."""
    megabytes = 0
    with suppress(UserError):  # the job names what is damaged
        described = fetched.description(Path(input.json).parent)
        megabytes = 8e-6 * described["rows"] * described.get("prepared", described["features"])
    return max(2000, int(500 + 1.5 * megabytes))


rule fetch:
    # No input: Snakemake would take braces in the name of a user's file for wildcards.
    output:
        parquet="results/data/{source}/dataset.parquet",
        json="results/data/{source}/dataset.json",
    log:
        "results/data/{source}/fetch.log",
    benchmark:
        "results/data/{source}/fetch.tsv"
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # Of what is downloaded the size is not known before.
        mem_mb=lambda w, input: 2000 + int(8 * input.size_mb),
        runtime=60,
        downloads=lambda w: int(w.source.startswith("openml-")),
    params:
        source=lambda w: JOBS.source(w.source),
        content=lambda w: JOBS.source_content(w.source),
        folder=subpath(output.json, parent=True),
        code=lambda w: code_version("fetch"),
    shell:
        '{PYTHON} {SCRIPTS:q}/fetch.py --source {params.source:q} --openml "$ENSEMBLE_SEARCH_OPENML"'
        " --output {params.folder:q} 2> {log}"


rule split:
    input:
        # The rows go by dataset.json, which holds their checksum: a file that was written again
        # with the same content starts nothing.
        json=lambda w: f"results/data/{JOBS_OF[w.study].source_key(w.dataset)}/dataset.json",
        parquet=lambda w: ancient(
            f"results/data/{JOBS_OF[w.study].source_key(w.dataset)}/dataset.parquet"
        ),
    output:
        inputs=f"results/{{study}}/{layout.SPLIT}/inputs.npz",
        labels=f"results/{{study}}/{layout.SPLIT}/test_labels.npy",
        json=f"results/{{study}}/{layout.SPLIT}/split.json",
    log:
        f"results/{{study}}/{layout.log('split', layout.SPLIT)}",
    benchmark:
        f"results/{{study}}/{layout.benchmark('split', layout.SPLIT)}"
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=split_memory,
        runtime=30,
    params:
        data=subpath(input.json, parent=True),
        settings=lambda w: JOBS_OF[w.study].split(w.split),
        folder=subpath(output.json, parent=True),
        code=lambda w: code_version("split"),
    shell:
        "{PYTHON} {SCRIPTS:q}/split.py --dataset {params.data} --settings {params.settings:q}"
        " --output {params.folder:q} 2> {log}"
