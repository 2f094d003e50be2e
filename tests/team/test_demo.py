"""`backscroll server --demo`: three people to sign in as, and something to see on every page."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.operating.demo_team import PEOPLE
from tests.support.command import run_command

PATIENCE = 120


@pytest.fixture(scope="module")
def links(postgres: EmbeddedPostgres) -> Iterator[list[str]]:
    """The links that it prints. When it has ended, nothing of it is left."""
    del postgres  # where PostgreSQL cannot run, this is skipped
    temporary = Path(tempfile.mkdtemp(prefix="backscroll-test-", dir="/tmp"))
    temporary.chmod(0o711)  # as root, PostgreSQL runs as another user
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "backscroll", "server", "--demo", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        assert server.stdout
        said = "".join(server.stdout.readline() for _ in range(1 + 2 * len(PEOPLE)))
        yield re.findall(r"http://\S+link=\S+", said)
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE)
        assert not list(temporary.glob("backscroll-demo-*"))
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()
        shutil.rmtree(temporary, ignore_errors=True)


def _signed_in(link: str) -> httpx.Client:
    browser = httpx.Client(base_url=link.partition("/sign-in")[0], follow_redirects=True, trust_env=False, timeout=60)
    assert browser.get(link).url.path == "/"
    return browser


def test_each_link_signs_in_as_one_person_as_often_as_one_likes(links: list[str]) -> None:
    assert len(links) == 3
    for link, (handle, name, _) in zip(links, PEOPLE, strict=True):
        for _ in range(2):
            with closing(_signed_in(link)) as browser:
                assert f"You are {name} ({handle})" in browser.get("/account").text
    with httpx.Client(base_url=links[0].partition("/sign-in")[0], trust_env=False) as stranger:
        assert "Password" in stranger.get("/sign-in?link=bsl_guessed").text
        assert stranger.get("/chats").status_code == 303


def test_everyone_has_chats_costs_projects_and_what_others_share(links: list[str]) -> None:
    for link, (handle, _, _) in zip(links, PEOPLE, strict=True):
        with closing(_signed_in(link)) as browser:
            chats = browser.get("/api/v1/chats").json()["chats"]
            assert len(chats) >= 3
            projects = {chat["project"] for chat in chats}
            assert len(projects) >= 2
            assert all(project.startswith(f"/home/{handle}/") for project in projects)
            shared = browser.get("/shared").text
            assert "No chats are shared with you" not in shared
            assert "You share no chat" not in shared
            assert "No one else has read" not in browser.get("/readers").text
            assert f"{handle}/" in browser.get("/devices").text
            assert browser.get("/api/v1/stats/usage?by=model").json()["rows"]


@pytest.mark.all
def test_the_demo_uses_nothing_of_a_real_server(tmp_path: Path) -> None:
    done = run_command("server", "--demo", "--data", tmp_path)
    assert done.returncode == 2
    assert "of its own" in done.stderr
