"""Databases and logs as early clients wrote them, made by hand: the tables are those of the clients' own migrations."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from uuid import NAMESPACE_OID, uuid5

BASE: Final = """
    CREATE TABLE base_messages (uuid text PRIMARY KEY NOT NULL, parent_uuid text, session_id text NOT NULL,
    timestamp integer NOT NULL, message_type text NOT NULL, cwd text NOT NULL, user_type text NOT NULL,
    version text NOT NULL, isSidechain integer NOT NULL)
"""
USER: Final = """
    CREATE TABLE user_messages (uuid text PRIMARY KEY NOT NULL, message text NOT NULL, tool_use_result text,
    timestamp integer NOT NULL)
"""
ASSISTANT: Final = """
    CREATE TABLE assistant_messages (uuid text PRIMARY KEY NOT NULL, cost_usd real NOT NULL,
    duration_ms integer NOT NULL, message text NOT NULL, is_api_error_message integer DEFAULT false NOT NULL,
    timestamp integer NOT NULL)
"""
SUMMARIES: Final = (
    "CREATE TABLE conversation_summaries (leaf_uuid text PRIMARY KEY NOT NULL, summary text NOT NULL,"
    " updated_at integer NOT NULL)"
)
MODEL: Final = "ALTER TABLE assistant_messages ADD model text DEFAULT '' NOT NULL"
ORIGINAL_CWD: Final = "ALTER TABLE base_messages ADD original_cwd text NOT NULL DEFAULT ''"
META: Final = "ALTER TABLE user_messages ADD is_meta integer"
MIGRATIONS: Final = (SUMMARIES, MODEL, ORIGINAL_CWD, META)
FIRST_SECOND: Final = 1_745_000_000


class Said(NamedTuple):
    """A row to be written."""

    session: str
    text: str
    by: str = "user"
    tokens: int = 7


def early_uuid(name: str) -> str:
    """The same id for the same name."""
    return str(uuid5(NAMESPACE_OID, f"early {name}"))


def talk(session: str, *texts: str) -> list[Said]:
    """Prompts and answers in turn."""
    return [Said(session, text, ("user", "assistant")[at % 2]) for at, text in enumerate(texts)]


def write_database(path: Path, rows: Sequence[Said], *, migrations: int = len(MIGRATIONS), begin: int = 0) -> Path:
    """A database with these rows, each the child of the one before it in its session; `begin` is the first number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in (BASE, USER, ASSISTANT, *MIGRATIONS[:migrations]):
                database.execute(statement)
        for at, row in enumerate(rows, start=begin):
            add_row(database, at, row)
    return path


def empty_database() -> bytes:
    """A database without a message in it, as SQLite copies it: a copy of a copy is the same bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "copy.db")
        with closing(sqlite3.connect(":memory:")) as database, closing(sqlite3.connect(path)) as copy:
            for statement in (BASE, USER, ASSISTANT, *MIGRATIONS):
                database.execute(statement)
            database.backup(copy)
        return path.read_bytes()


def add_row(database: sqlite3.Connection, at: int, row: Said) -> None:
    """What a client writes for one message."""
    unique, session = early_uuid(f"{row.session} {at}"), early_uuid(row.session)
    last = "SELECT uuid FROM base_messages WHERE session_id = ? ORDER BY rowid DESC LIMIT 1"
    parent = (database.execute(last, (session,)).fetchone() or (None,))[0]
    moment = FIRST_SECOND + at
    base = (unique, parent, session, moment, row.by, "/home/ada/shop", "external", "0.2.96", 0)
    columns = "uuid, parent_uuid, session_id, timestamp, message_type, cwd, user_type, version, isSidechain"
    database.execute(f"INSERT INTO base_messages ({columns}) VALUES ({', '.join('?' * 9)})", base)
    if row.by == "user":
        prompt = {"role": "user", "content": row.text}
        values = (unique, json.dumps(prompt), moment)
        database.execute("INSERT INTO user_messages (uuid, message, timestamp) VALUES (?, ?, ?)", values)
        return
    message: dict[str, object] = {
        "id": f"msg_{unique}",
        "type": "message",
        "role": "assistant",
        "model": "claude-3-7-sonnet-20250219",
        "content": [{"type": "text", "text": row.text}],
        "usage": {"input_tokens": row.tokens, "output_tokens": row.tokens},
    }
    database.execute(
        "INSERT INTO assistant_messages (uuid, cost_usd, duration_ms, message, timestamp) VALUES (?, ?, ?, ?, ?)",
        (unique, 0.25, 1200, json.dumps(message), moment),
    )


def give_title(path: Path, leaf: str, title: str) -> None:
    """What a client writes when it sums a conversation up."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT OR REPLACE INTO conversation_summaries VALUES (?, ?, ?)", (leaf, title, FIRST_SECOND + 9)
        )


def log_of(session: str, *texts: str) -> bytes:
    """A log of the first clients: a JSON array, each message with what its client knew."""
    return json.dumps(
        [
            {
                "type": row.by,
                "uuid": early_uuid(f"log {row.session} {at}"),
                "message": {
                    "role": row.by,
                    "content": row.text if row.by == "user" else [{"type": "text", "text": row.text}],
                },
                **({"costUSD": 0.5, "durationMs": 900} if row.by == "assistant" else {}),
                "cwd": "/home/ada/shop",
                "userType": "external",
                "sessionId": early_uuid(row.session),
                "timestamp": f"2025-03-0{1 + at % 9}T10:00:00.000Z",
                "version": "0.2.29",
            }
            for at, row in enumerate(talk(session, *texts))
        ],
        indent=2,
    ).encode()
