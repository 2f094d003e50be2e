"""Export and import: session files byte for byte, usage as CSV, and what ClaudeLens wrote."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.prompts.prompt_file import PromptFile
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.operating.claudelens import read_claudelens
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Served, serving

ZOO = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka is fed"
SHOP = "@ cwd=/home/dev/shop\nc <- - user: count the zyxwalrus\nd <- c assistant(m2): one"
EXPORT: dict[str, Any] = {
    "conversations": [
        {
            "id": "66b0c0ffee", "title": "Old friends", "summary": "About zyxlemurs", "projectId": "66b0",
            "createdAt": "2025-08-01T10:00:00", "updatedAt": None, "model": "claude-sonnet-4", "costUsd": 0.5,
            "messageCount": 3, "tags": [], "metadata": {},
            "messages": [
                {"id": "2", "type": "assistant", "content": "zyxlemurs eat fruit", "timestamp": "2025-08-01T10:00:05",
                 "model": "claude-sonnet-4", "costUsd": 0.5,
                 "metadata": {"cwd": "/home/dev/lens", "gitBranch": "main", "version": "1.0.60", "uuid": "u2",
                              "sessionId": session_uuid("lens")}},
                {"id": "1", "type": "user", "content": "what do zyxlemurs eat", "timestamp": "2025-08-01T10:00:00",
                 "model": None, "costUsd": None,
                 "metadata": {"cwd": "/home/dev/lens", "gitBranch": "main", "version": "1.0.60", "uuid": "u1",
                              "sessionId": session_uuid("lens")}},
                {"id": "3", "type": "tool_use", "content": "", "timestamp": "2025-08-01T10:00:06", "metadata": None},
            ],
        }
    ]
}  # fmt: skip
DUMP: list[dict[str, Any]] = [
    {
        "_id": {"$oid": "66b1"}, "uuid": "v1", "sessionId": session_uuid("dump"), "user_id": {"$oid": "66b2"},
        "type": "user", "timestamp": {"$date": "2025-08-02T09:00:00Z"}, "parentUuid": None, "isSidechain": False,
        "message": {"role": "user", "content": "where do zyxibises live"}, "cwd": "/home/dev/lens",
        "version": "1.0.61", "contentHash": "x", "createdAt": {"$date": "2025-08-02T09:01:00Z"},
    },
    {
        "_id": {"$oid": "66b3"}, "uuid": "v2", "sessionId": session_uuid("dump"), "user_id": {"$oid": "66b2"},
        "type": "assistant", "timestamp": {"$date": "2025-08-02T09:00:02Z"}, "parentUuid": "v1", "isSidechain": False,
        "message": {"role": "assistant", "id": "msg_9", "model": "claude-sonnet-4-20250514",
                    "content": [{"type": "text", "text": "zyxibises live by the river"}],
                    "usage": {"input_tokens": 11, "output_tokens": 7}},
        "costUsd": {"$numberDecimal": "0.25"}, "model": "claude-sonnet-4-20250514", "cwd": "/home/dev/lens",
        "contentHash": "y", "createdAt": {"$date": "2025-08-02T09:01:00Z"},
    },
]  # fmt: skip


@dataclass
class Place:
    served: Served
    folder: Path
    address: str

    def command(self, *words: object) -> str:
        done = run_command("server", *words, "--data", self.folder / "server", "--database", self.address)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("moving")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        ada, bob = invited(served, "ada", "bob")
        machine_of(served, ada, folder / "machines").push(zoo=ZOO, shop=SHOP)
        machine_of(served, bob, folder / "machines").push(shop=SHOP)
        browsers = [served.signed_in(name) for name in ("ada", "bob")]
        until(lambda: all("zyxwalrus" in browser.get("/chats").text for browser in browsers))
        until(lambda: "zyxquokka" in browsers[0].get("/chats").text)
        yield Place(served, folder, url)


def test_a_person_is_exported_byte_for_byte(place: Place) -> None:
    to = place.folder / "ada"
    place.served.signed_in("ada").submit("/prompts", name="feed", text="feed {{animal}}", tags="zoo")
    assert "1 person" in place.command("export", to, "--person", "ada")
    sent = session_file("zoo", ZOO) | session_file("shop", SHOP)
    written = {path.name: path.read_bytes() for path in to.rglob("*.jsonl")}
    assert written == {Path(name).name: data for name, data in sent.items()}
    (prompt,) = PromptFile(to / "ada").all()  # as a library on one machine has them
    assert (prompt.name, prompt.text, prompt.tags) == ("feed", "feed {{animal}}", ["zoo"])
    rows = list(csv.DictReader((to / "usage.csv").read_text().splitlines()))
    assert {row["person"] for row in rows} == {"ada"}
    assert sum(int(row["output_tokens"]) for row in rows) > 0
    with place.served.context.database.transaction() as connection:
        assert connection.execute("select 1 from audit where action = 'history.export'").fetchone()


def test_a_project_and_an_organisation_are_exported(place: Place) -> None:
    place.command("export", place.folder / "shop", "--project", "shop")
    found = [path.relative_to(place.folder / "shop").parts[0] for path in (place.folder / "shop").rglob("*.jsonl")]
    assert sorted(found) == ["ada", "bob"]
    place.command("export", place.folder / "org")
    assert len(list((place.folder / "org").rglob("*.jsonl"))) == 3
    again = run_command(
        "server", "export", place.folder / "org", "--data", place.folder / "server", "--database", place.address
    )
    assert again.returncode == 2
    assert "not empty" in again.stderr


def test_an_export_is_imported_for_another_person(place: Place) -> None:
    """Also a folder without the layout of a home; the sessions arrive with all their bytes."""
    invited(place.served, "cleo")
    loose = place.folder / "loose"
    loose.mkdir()
    for name, data in (session_file("zoo", ZOO) | session_file("shop", SHOP)).items():
        (loose / Path(name).name).write_bytes(data)
    (loose / "history.jsonl").write_bytes(b'{"display":"x"}\n')
    said = place.command("import", loose, "--person", "cleo", "--dry-run")
    assert "Would import 2 of 2 session files" in said
    assert "Left out: 1" in said
    assert "as cleo/import" in place.command("import", loose, "--person", "cleo")
    cleo = place.served.signed_in("cleo")
    until(lambda: len(cleo.get("/api/v1/chats").json().get("chats", [])) == 2)
    assert "2 equal to what cleo has" in place.command("import", loose, "--person", "cleo")
    place.command("export", place.folder / "cleo", "--person", "cleo")
    sent = session_file("zoo", ZOO) | session_file("shop", SHOP)
    written = {path.read_bytes() for path in (place.folder / "cleo").rglob("*.jsonl")}
    assert written == set(sent.values())
    until(lambda: cleo.get("/api/v1/chats").json()["chats"] and True)
    assert len(cleo.get("/api/v1/chats").json()["chats"]) == 2
    assert not (place.folder / "server" / "imports" / "cleo").exists()


def test_what_claudelens_wrote_is_imported(place: Place) -> None:
    invited(place.served, "dora")
    for name, content in (("export.json", EXPORT), ("messages.json", DUMP)):
        (place.folder / name).write_text(json.dumps(content))
        place.command("import", place.folder / name, "--person", "dora")
    dora = place.served.signed_in("dora")
    until(lambda: len(dora.get("/api/v1/chats").json().get("chats", [])) == 2)
    for word, name in (("zyxlemurs", "lens"), ("zyxibises", "dump")):
        chats = dora.get(f"/api/v1/search?q={word}").json()["chats"]
        assert [chat["id"] for chat in chats] == [session_uuid(name)]
    usage = dora.get("/api/v1/stats/usage?by=model").text
    assert "claude-sonnet-4-20250514" in usage


def test_messages_that_claudelens_lost_are_counted() -> None:
    found = read_claudelens(json.dumps(EXPORT).encode())
    assert found is not None
    assert found.left_out == 1
    (session,) = found.sessions
    rows = [json.loads(line) for line in session.lines]
    assert [row["type"] for row in rows] == ["user", "assistant", "summary"]
    assert (rows[0]["parentUuid"], rows[1]["parentUuid"], rows[1]["costUSD"]) == (None, "u1", 0.5)
    lines = read_claudelens(b"\n".join(json.dumps(one).encode() for one in DUMP))
    assert lines is not None
    assert json.loads(lines.sessions[0].lines[1])["costUSD"] == 0.25
    assert read_claudelens(b'{"type":"user"}\n{"type":"user"}') is None
    assert read_claudelens(b"nothing of the kind") is None


def test_a_folder_without_sessions_is_refused(place: Place, tmp_path: Path) -> None:
    done = run_command(
        "server", "import", tmp_path, "--person", "ada", "--data", place.folder / "server", "--database", place.address
    )
    assert done.returncode == 2
    assert "no session was found" in done.stderr
