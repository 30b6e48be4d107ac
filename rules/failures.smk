# What failed, for the end of a run: Snakemake says it when it happens, which --quiet hides and
# hours of other jobs push out of sight.
import logging

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from divbo import job_logs


class Failures(logging.Handler):
    """Collects the jobs that failed, from what Snakemake tells its loggers, however quiet it is.

    A job that failed and succeeded at another attempt is none of them.
    """

    def __init__(self):
        super().__init__()
        self.wildcards = {}
        self.failed = {}

    def emit(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            self.wildcards[record.jobid] = tuple((record.wildcards or {}).values())
        elif event == LogEvent.JOB_ERROR:
            wildcards = self.wildcards.get(record.jobid, ())
            log = Path(record.log[0]) if record.log else None
            self.failed[record.jobid] = job_logs.Failure(
                record.rule_name, wildcards, log, record.rule_msg or ""
            )
        elif event == LogEvent.JOB_FINISHED:
            self.failed.pop(record.job_id, None)


FAILURES = Failures()
if workflow.is_main_process:
    logger.addHandler(FAILURES)
