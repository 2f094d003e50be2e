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
        """One line. Of the values in the message, it has only numbers, and the kinds of errors."""
        raised = record.exc_info[0] if record.exc_info else None
        errors = [raised, *(type(value) for value in _values(record) if isinstance(value, BaseException))]
        told = {
            "at": moment(),
            "level": record.levelname.lower(),
            "module": record.name,
            "message": _message(record),
            "problem": next((error.__name__ for error in errors if error), getattr(record, "problem", None)),
            "line": record.lineno,
        }
        return json.dumps(told)


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
