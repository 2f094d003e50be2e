"""The link that the server prints works once every process of it is up, however many there are, and only once."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attack.as_users import Started, started
from tests.support.postgres import fresh_database, older_postgres
from tests.support.processes import until
from tests.team.test_command import web_processes_of

__all__ = ["older_postgres"]
pytestmark = pytest.mark.all


def _all_are_up(server: Started, count: int) -> None:
    """Every web process answers: each in turn, while the others stand still."""
    until(lambda: len(web_processes_of(server.process.pid)) == count - 1)
    processes = [server.process.pid, *web_processes_of(server.process.pid)]
    for one in processes:
        others = [pid for pid in processes if pid != one]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        with server.visitor() as visitor:
            assert visitor.get("/readyz").text == "ready\n"
        for pid in others:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("words", [[], ["--processes", "3"]], ids=["default", "three"])
@pytest.mark.parametrize("version", ["its own database", "older_postgres"])
def test_it_works_when_all_processes_are_up(request: pytest.FixtureRequest, version: str, words: list[str]) -> None:
    with ExitStack() as stack:
        address = ""
        if version == "older_postgres":
            address = stack.enter_context(fresh_database(request.getfixturevalue(version), has_tables=False))
        server = stack.enter_context(started(*words, database=address))
        _all_are_up(server, 3 if words else min(4, len(os.sched_getaffinity(0))))
        for _ in range(5):
            assert server.visitor().get(server.link).status_code == 200
        for one in web_processes_of(server.process.pid):  # each is started again, which makes no link
            os.kill(one, signal.SIGKILL)
        assert server.visitor().open_link(server.link).url.path == "/devices"
        assert server.visitor().get(server.link).status_code == 404


def test_each_start_prints_a_further_link_and_all_end_when_one_is_used(tmp_path: Path) -> None:
    data = Path("/tmp") / f"backscroll-{tmp_path.name}-{os.getpid()}"
    links = []
    try:
        for _ in range(3):
            with started(data=data) as server:
                links.append(server.link.partition("link=")[2])
        assert len(set(links)) == 3
        with started(data=data) as server:
            for link in links:
                assert server.visitor().get(f"/welcome?link={link}").status_code == 200
            server.visitor().open_link(f"link={links[0]}")
            for link in (*links, server.link.partition("link=")[2]):
                assert server.visitor().get(f"/welcome?link={link}").status_code == 404
        with started(data=data) as server:
            assert server.link == ""
    finally:
        import shutil

        shutil.rmtree(data, ignore_errors=True)
