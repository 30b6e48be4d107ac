# Two parallel downloads from OpenML, unless `--resources downloads=` is given.
workflow.global_resources.setdefault("downloads", 2)


def split_memory(w, input):
    """Megabytes to split a data set: 1.5 times its prepared columns."""
    megabytes = 0
    with suppress(UserError):  # the job reports the damage
        described = fetched.description(Path(input.json).parent)
        megabytes = 8e-6 * described["rows"] * described.get("prepared", described["features"])
    return max(2000, int(500 + 1.5 * megabytes))


rule fetch:
    # Not an input: Snakemake would treat braces in the name of a user's file as wildcards.
    output:
        parquet=f"{ROOT}/data/{{source}}/dataset.parquet",
        json=f"{ROOT}/data/{{source}}/dataset.json",
    log:
        f"{ROOT}/data/{{source}}/fetch.log",
    benchmark:
        f"{ROOT}/data/{{source}}/fetch.tsv"
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        # The size of downloads is unknown beforehand.
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
        # dataset.json has the checksum of the rows, so rewriting the file with the same content
        # triggers nothing.
        json=lambda w: f"{ROOT}/data/{JOBS_OF[w.study].source_key(w.dataset)}/dataset.json",
        parquet=lambda w: ancient(
            f"{ROOT}/data/{JOBS_OF[w.study].source_key(w.dataset)}/dataset.parquet"
        ),
    output:
        inputs=f"{ROOT}/{{study}}/{layout.SPLIT}/inputs.npz",
        labels=f"{ROOT}/{{study}}/{layout.SPLIT}/test_labels.npy",
        preparation=f"{ROOT}/{{study}}/{layout.SPLIT}/preparation.json",
        json=f"{ROOT}/{{study}}/{layout.SPLIT}/split.json",
    log:
        f"{ROOT}/{{study}}/{layout.log('split', layout.SPLIT)}",
    benchmark:
        f"{ROOT}/{{study}}/{layout.benchmark('split', layout.SPLIT)}"
    localrule: True
    conda:
        "../envs/ensemble-search.yaml"
    threads: 1
    resources:
        mem_mb=split_memory,
        runtime=30,
    params:
        data=subpath(input.json, parent=True),
        settings=lambda w: JOBS_OF[w.study].split(w.dataset, w.split),
        folder=subpath(output.json, parent=True),
        code=lambda w: code_version("split"),
    shell:
        "{PYTHON} {SCRIPTS:q}/split.py --dataset {params.data} --settings {params.settings:q}"
        " --output {params.folder:q} {NEEDS} 2> {log}"
