"""A line of JSON for each job that a worker tried, and for what else it has to say: no contents, no secrets.

A line names the kind of the job and its person, and after a failure the type of the error: messages may quote paths.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from backscroll.files.source_key import owner_of
from backscroll.team.jobs import Job
from backscroll.team.request_log import WriteLine


class JobLog:
    """Writes the lines."""

    def __init__(self, write: WriteLine, clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock

    @contextmanager
    def telling(self, job: Job) -> Iterator[None]:
        """Tell how a job ended."""
        began, problem = self._clock(), None
        try:
            yield
        except BaseException as error:
            problem = type(error).__name__
            raise
        finally:
            told = {
                "at": moment(),
                "job": job.kind,
                "person": owner_of(job.about) or job.about,
                "try": job.tries,
                "ok": problem is None,
                "problem": problem,
                "ms": round((self._clock() - began) * 1000),
            }
            self._write(json.dumps(told))


class JsonFormatter(logging.Formatter):
    """A record of `logging` as a line of JSON: where it comes from and what kind of error, not what it quotes."""

    def format(self, record: logging.LogRecord) -> str:
        """One line. The message is the one in the code, before values are put into it."""
        error = record.exc_info[0] if record.exc_info else None
        told = {
            "at": moment(),
            "level": record.levelname.lower(),
            "module": record.name,
            "message": str(record.msg),
            "problem": error.__name__ if error else None,
            "line": record.lineno,
        }
        return json.dumps(told)


def log_as_json(write: WriteLine) -> None:
    """From now on this process logs lines of JSON only."""

    class Lines(logging.Handler):
        """Hands lines on."""

        def emit(self, record: logging.LogRecord) -> None:
            """Write one."""
            write(self.format(record))

    handler = Lines()
    handler.setFormatter(JsonFormatter())
    logging.getLogger().handlers[:] = [handler]


def moment() -> str:
    """Now, as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
