# Table of failed jobs at the end of a run: Snakemake reports failures when they happen, where
# --quiet hides them or other output follows.
import logging

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from ensemble_search.results import job_logs


class Endings(logging.Handler):
    """Collects the executors' messages on failed jobs, by job id, also with --quiet."""

    def __init__(self):
        super().__init__()
        self.messages = {}

    def emit(self, record):
        if getattr(record, "event", None) == LogEvent.JOB_ERROR:
            self.messages[record.jobid] = record.rule_msg or ""


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
