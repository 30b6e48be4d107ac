# Table of failed jobs at the end of a run: Snakemake reports failures when they happen, where
# --quiet hides them or other output follows.
import logging

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from ensemble_search.results import job_logs


class Endings(logging.Handler):
    """Collects the executors' messages on failed jobs, by job id, also with --quiet.

    Why SLURM ended a job is added to the job's log, which cannot know it.
    """

    def __init__(self):
        super().__init__()
        self.messages = {}

    def emit(self, record):
        if getattr(record, "event", None) == LogEvent.JOB_ERROR:
            message = record.rule_msg or ""
            self.messages[record.jobid] = message
            for job in list(workflow.scheduler.running):
                if job.jobid == record.jobid and not job.is_group():
                    self.messages[record.jobid] = explain(job, message, record.log) or message


def explain(job, message, logs):
    """Why SLURM ended a job, in a line that its log gets, too; empty where it did not."""
    log = Path(job.log[0]) if job.log else None
    # After those of the job, SLURM's.
    of_slurm = job_logs.text(Path(logs[-1])) if len(logs) > len(job.log) else ""
    asked = (job.resources.get(name, 0) for name in ("mem_mb", "runtime"))
    why = slurm.why_ended(message, of_slurm, *asked, job.rule.name)
    if why:
        name = " ".join((job.rule.name, *job.wildcards))
        print(f"note: {one_line(f'{name}: {why}')}", file=sys.stderr, flush=True)
        if log and not job_logs.reason(log):
            with suppress(OSError), log.open("a", encoding="utf-8") as file:
                file.write(f"error: {one_line(why)}\n")
    return why


def failures():
    """List the jobs that failed, at their last attempt if there were several."""
    found = []
    for job in workflow.scheduler.failed:
        for part in job if job.is_group() else [job]:
            log = Path(part.log[0]) if part.log else None
            message = ENDINGS.messages.get(part.jobid, "")
            found.append(job_logs.Failure(part.rule.name, tuple(part.wildcards), log, message))
    return sorted(found)


ENDINGS = Endings()
if workflow.is_main_process:
    logger.addHandler(ENDINGS)
