# DivBO and its baselines as a workflow: fetch -> split -> search -> ensemble -> report.
#
#   snakemake --cores 64                                           the study in config.yaml
#   snakemake --cores 2 --configfile studies/quickstart.yaml       another study instead

from snakemake.utils import min_version

min_version("9.0")

# A workflow that begins with this one as a module has no target of its own yet.
IS_TARGET = workflow.modifier.is_main_snakefile() or workflow.default_target is None


include: "rules/common.smk"
include: "rules/failures.smk"
include: "rules/slurm.smk"
include: "rules/data.smk"
include: "rules/table.smk"
include: "rules/replay.smk" if STUDY.evaluation.replay else "rules/search.smk"
include: "rules/ensemble.smk"
include: "rules/divisions.smk"
include: "rules/surrogate.smk"
include: "rules/spread.smk"
include: "rules/autogluon.smk"
include: "rules/deliver.smk"
include: "rules/report.smk"
include: "rules/manifest.smk"


if not workflow.modifier.is_main_snakefile():
    share_names()


rule all:
    default_target: IS_TARGET
    input:
        RESULTS / "report/index.html",
        RESULTS / "manifest.json",
        # Also listed here: losing a result does not rerun the report.
        SEARCHES,
        SCORES,
        SURROGATES,
        SPREADS,
        DIVISIONS,
        TABLES,
        DELIVERED,


onstart:
    lock_results()
    check_kept_splits()
    cancel_leftovers()
    if workflow.executor_plugin.executor.__module__ == "snakemake_executor_plugin_slurm":
        watch_executor()


onsuccess:
    if (RESULTS / "report/index.html").exists():
        print(f"\nThe report: {RESULTS / 'report/index.html'}")
    for folder in DELIVERED:
        print(f"An ensemble to use: {folder / 'card.html'}")


onerror:
    if failed := failures():
        print("\nFailed:", *job_logs.table(failed), sep="\n")
    print("\nStopped, or something failed; what is finished stays.")
    print(f"The logs: {RESULTS / 'logs'}/ and, of fetched data, {ROOT}/data/*/fetch.log")
    first = "Fix the causes above, and run" if failed else "Run"
    print(f"{first} the same command again: it continues where it stopped.")
