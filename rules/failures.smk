# Table of failed jobs at the end of a run: Snakemake reports failures when they happen, where
# --quiet hides them or other output follows.
import logging
import signal

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from ensemble_search.results import job_logs


class Endings(logging.Filter):
    """Collects messages on failed jobs, by job id, also with --quiet.

    After Ctrl-C it drops them: the jobs have not failed.
    """

    def __init__(self):
        super().__init__()
        self.messages = {}
        self.interrupted = False
        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
            signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, number, frame):
        self.interrupted = True
        signal.default_int_handler(number, frame)

    def filter(self, record):
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_ERROR:
            self.messages[record.jobid] = record.rule_msg or ""
        elif event != LogEvent.ERROR:
            return True
        elif job := re.search(r"Job (\d+) +completed successfully, but", str(record.msg)):
            files = re.findall(r"^(.+) \(missing ", record.msg, re.MULTILINE)
            self.messages[int(job[1])] = f"it ended without writing {', '.join(files)}"
        return not self.interrupted


def failures():
    """List the jobs that failed, at their last attempt if there were several."""
    found = []
    for job in workflow.scheduler.failed:
        for part in job if job.is_group() else [job]:
            log = Path(part.log[0]) if part.log else None
            message = ENDINGS.messages.get(part.jobid, "")
            found.append(job_logs.Failure(part.rule.name, tuple(part.wildcards), log, message))
    return sorted(found)


if workflow.is_main_process:
    ENDINGS = Endings()
    logger.addFilter(ENDINGS)
