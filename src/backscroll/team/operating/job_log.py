"""A log of a worker in lines of JSON: one for each try of a job, and its other messages, without contents and secrets.

A line names the kind of the job and its person, and after a failure the type of the error: messages may quote paths.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from backscroll.files.source_key import owner_of
from backscroll.team.database.jobs import Job
from backscroll.team.operating.request_log import WriteLine


class JobLog:
    """Writes a line for each try of a job."""

    def __init__(self, write: WriteLine, clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock

    @contextmanager
    def logging_job(self, job: Job) -> Iterator[None]:
        """Log how a job ended."""
        began, problem = self._clock(), None
        try:
            yield
        except BaseException as error:
            problem = type(error).__name__
            raise
        finally:
            line = {
                "at": moment(),
                "job": job.kind,
                "person": owner_of(job.about) or job.about,
                "try": job.tries,
                "ok": problem is None,
                "problem": problem,
                "ms": round((self._clock() - began) * 1000),
            }
            self._write(json.dumps(line))


class JsonFormatter(logging.Formatter):
    """Formats a record of `logging` as a line of JSON: its origin and the kind of error, but nothing that it quotes."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record. Of the values in the message, only numbers and the kinds of errors are kept."""
        raised = record.exc_info[0] if record.exc_info else None
        errors = [raised, *(type(value) for value in _values(record) if isinstance(value, BaseException))]
        line = {
            "at": moment(),
            "level": record.levelname.lower(),
            "module": record.name,
            "message": _message(record),
            "problem": next((error.__name__ for error in errors if error), getattr(record, "problem", None)),
            "line": record.lineno,
        }
        return json.dumps(line)


def _message(record: logging.LogRecord) -> str:
    """The message without what may be a text, a path or a secret."""
    return str(record.msg) % tuple(map(_shown, _values(record))) if record.args else str(record.msg)


def _values(record: logging.LogRecord) -> tuple[object, ...]:
    return record.args if isinstance(record.args, tuple) else ()


def _shown(value: object) -> object:
    if isinstance(value, BaseException):
        return type(value).__name__
    return value if isinstance(value, (int, float)) else "…"


def log_as_json(write: WriteLine) -> None:
    """Log only lines of JSON in this process, from now on."""

    class Lines(logging.Handler):
        """Passes lines to `write`."""

        def emit(self, record: logging.LogRecord) -> None:
            """Write a record."""
            write(self.format(record))

    handler = Lines()
    handler.setFormatter(JsonFormatter())
    logging.getLogger().handlers[:] = [handler]


def moment() -> str:
    """Return the current time as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
