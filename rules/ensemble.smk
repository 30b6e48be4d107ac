rule ensemble:
    input:
        observations=RESULTS / "searches/{dataset}/{search}/{repeat}/observations.parquet",
        validation=RESULTS / "searches/{dataset}/{search}/{repeat}/predictions-validation.npy",
        test=RESULTS / "searches/{dataset}/{search}/{repeat}/predictions-test.npy",
        split=lambda w: split_folder(w) / "split.json",
        labels=lambda w: ancient(split_folder(w) / "test_labels.npy"),
        inputs=lambda w: ancient(split_folder(w) / "inputs.npz"),
    output:
        scores=RESULTS / "ensembles/{dataset}/{search}/{ensemble}/{repeat}/scores.parquet",
        members=RESULTS / "ensembles/{dataset}/{search}/{ensemble}/{repeat}/members.parquet",
    log:
        RESULTS / "logs/ensemble/{dataset}/{search}/{ensemble}/{repeat}.log",
    benchmark:
        RESULTS / "benchmarks/ensemble/{dataset}/{search}/{ensemble}/{repeat}.tsv"
    conda:
        "../envs/divbo.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda w: TASKS.ensemble(w.ensemble),
        search=subpath(input.observations, parent=True),
        split=subpath(input.split, parent=True),
        folder=subpath(output.scores, parent=True),
        code=lambda w: TASKS.ensemble_code(w.ensemble),
    shell:
        "{PYTHON} {SCRIPTS:q}/ensemble.py --search {params.search} --split {params.split}"
        " --settings {params.settings:q} --seed {wildcards.repeat} --output {params.folder:q} 2> {log}"
