"""Workers log a line of JSON for each job, without contents; metrics count jobs by kind."""

import contextlib
import json
import logging
from pathlib import Path

from backscroll.errors import StorageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.connections import Database
from backscroll.team.operating.job_log import JobLog, JsonFormatter
from backscroll.team.operating.metrics import _text
from backscroll.team.operating.worker import Worker
from tests.support.postgres import fresh_database
from tests.team.sending import invited, machine_of
from tests.team.served import serving

SAID = "@ cwd=/home/dev/zyxshop\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads lines twice"


def _drained(worker: Worker, database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("update job set due = now()")
    while worker.do_next():
        pass


def test_a_line_tells_the_kind_of_a_job_and_how_it_ended(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    lines: list[str] = []
    with fresh_database(postgres) as url, serving(url, tmp_path / "server", works=False) as served:
        database = served.context.database
        libraries = Libraries(tmp_path / "server", database)
        worker = Worker(database, served.context.objects, libraries, JobLog(lines.append))
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        machine.push(a=SAID)
        _drained(worker, database)
        people = tmp_path / "server" / "people"
        people.rename(tmp_path / "away")
        people.write_bytes(b"")
        machine.push(b=SAID)
        with contextlib.suppress(StorageError, OSError):
            _drained(worker, database)
        people.unlink()
        (tmp_path / "away").rename(people)
        _drained(worker, database)
        told = [json.loads(line) for line in lines]
        assert {tuple(one) for one in told} == {("at", "job", "person", "try", "ok", "problem", "ms")}
        pulls = [(one["person"], one["try"], one["ok"], one["problem"]) for one in told if one["job"] == "pull"]
        assert pulls[0] == ("ada", 1, True, None)
        assert pulls[1][2] is False
        assert pulls[1][3].endswith("Error")
        assert pulls[2] == ("ada", 2, True, None)
        everything = "\n".join(lines)
        for secret in ("zyx", "laptop", machine.secret, str(tmp_path)):
            assert secret not in everything, secret
        with database.transaction() as connection:
            text = _text(connection).decode()
        assert 'backscroll_jobs_done_total{kind="pull"} 2.0' in text
        assert 'backscroll_jobs_failed_total{kind="pull"} 1.0' in text
        assert 'backscroll_job_seconds_total{kind="index"}' in text


def test_what_else_a_worker_logs_has_no_values() -> None:
    record = logging.LogRecord("x", logging.ERROR, "x.py", 7, "cannot take an object: %s", ("zyxsecret",), None)
    told = json.loads(JsonFormatter().format(record))
    assert told["message"] == "cannot take an object: …"
    assert "zyxsecret" not in json.dumps(told)
