"""Chats in SQL: listing them, finding one by id, and filtering by the fields of a query."""

import unicodedata
from datetime import datetime
from typing import Any, Final

from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Word
from backscroll.store.batches import microseconds, readable
from backscroll.store.reader import StoredChat
from backscroll.store.sql.saved_files import decode_overview
from backscroll.store.sql.statements import ScopedRows, array

Condition = tuple[str, list[Any]]
"""A condition on `chats c`, and its bound values."""
COLUMNS: Final = "c.id, c.overview, c.archived, c.tokens, c.cost, c.machines, c.unrecorded_tokens, c.unrecorded_cost"
ALL: Final = 1 << 62
LAST: Final = "\U0010ffff"
"""A character that sorts after any character of an id."""
ORDERS: Final = {
    "newest": "c.last_active desc nulls last, c.name desc",
    "oldest": "coalesce(c.started, c.last_active) nulls last, c.name",
    "title": "lower(c.title), c.name",
    "messages": "json_extract(c.overview, '$.messages') desc nulls last, c.name",
    "cost": "c.cost desc nulls last, c.name",
    "active": "json_extract(c.overview, '$.active_seconds') desc nulls last, c.name",
    "relevance": "c.last_active desc nulls last, c.name desc",
}


class ChatRows:
    """The chats of a store, for one query."""

    def __init__(self, rows: ScopedRows) -> None:
        self._visible = rows
        self._scope = rows.scope

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """Return the chats that match the fields of a query and have its words in their titles."""
        where, values = self.condition(query.root) if query else ("true", [])
        return self._read(
            f"select {COLUMNS} from chats c where not c.silent and {where}"  # noqa: S608
            f" order by {ORDERS[sort]} limit ? offset ?",
            [*values, ALL if limit is None else limit, offset],
        )

    def count(self, query: Query | None) -> int:
        """Return the number of chats that match."""
        where, values = self.condition(query.root) if query else ("true", [])
        statement = f"select count(*) from chats c where not c.silent and {where}"  # noqa: S608
        return int(next(iter(self._visible.execute(statement, values)))[0])

    def of(self, chats: list[int]) -> dict[int, StoredChat]:
        """Return the chats with these ids."""
        if not chats:
            return {}
        stored = self._read(
            f"select {COLUMNS} from chats c where c.id in (select value from json_each(?))",  # noqa: S608
            [array(chats)],
        )
        return {chat.key: chat for chat in stored}

    def find(self, name: str) -> list[StoredChat]:
        """Return chats whose id (or a session, message or agent id in them) starts with `name`."""
        lower, upper = name, name + LAST
        return self._read(
            f"select {COLUMNS} from chats c where c.id in ({FIND}) order by {ORDERS['newest']}",  # noqa: S608
            [lower, upper] * FIND.count("between"),
        )

    def named(self, names: list[str]) -> list[StoredChat]:
        """Return the chats with these ids, or with sessions of these ids."""
        bound_names = array(names)
        stored = self._read(f"select {COLUMNS} from chats c where c.id in ({NAMED})", [bound_names, bound_names])  # noqa: S608
        wanted = set(names)
        return [chat for chat in stored if not wanted.isdisjoint((chat.overview.id, *chat.overview.sessions))]

    def files(self, part: Part) -> list[int]:
        """Return the files of the chats that match part of a query."""
        where, values = self.condition(part)
        rows = self._visible.execute(
            f"select f.id from files f where f.chat in (select c.id from chats c where {where})",  # noqa: S608
            values,
        )
        return [number for (number,) in rows]

    def visible_files(self) -> list[int] | None:
        """Return the visible files; None if all files are visible."""
        if self._visible.is_everything:
            return None
        return [number for (number,) in self._visible.execute("select id from files")]

    def condition(self, part: Part) -> Condition:
        """Return the condition for the part of a query that SQL can answer: fields of chats, and words in titles."""
        if isinstance(part, (All, Either)):
            conditions = [self.condition(inner) for inner in part.parts]
            word = " and " if isinstance(part, All) else " or "
            text = f"({word.join(text for text, _ in conditions)})" if conditions else "true"
            return text, [value for _, values in conditions for value in values]
        if isinstance(part, Not):
            text, values = self.condition(part.part)
            return f"not coalesce({text}, false)", values
        if isinstance(part, (Word, Phrase)):
            return self._contains("c.title", part.text)
        if isinstance(part, Field):
            return self._field(part)
        return "true", []

    def _field(self, field: Field) -> Condition:
        value = field.value
        if field.name in ("after", "before") and isinstance(value, datetime):
            return ("c.last_active >= ?" if field.name == "after" else "c.started < ?"), [microseconds(value)]
        if field.name == "tokens":
            return f"c.tokens {_comparison(field)} ?", [value]
        if field.name == "cost":
            return f"c.cost / 1e9 {_comparison(field)} ?", [value]
        text = str(value)
        if field.name in ("is", "has"):
            return self._state(text)
        if field.name == "tag":
            sessions = self._scope.tagged.get(text.lower(), frozenset())
            tagged, values = self._contains("c.tags", f"\n{text}\n")
            return f"({tagged} or {HAS_SESSION})", [*values, array(sorted(sessions))]
        if field.name in ("branch", "model", "file", "machine"):
            columns = {"branch": "git_branches", "model": "models", "file": "files_touched", "machine": "machines"}
            name = f"c.{columns[field.name]}"
            return self._contains(name, f"\n{text}\n" if field.comparison == "==" else text)
        if field.name == "owner":
            return self._owner(text.lower())
        if field.name in ("session", "chat"):
            column = "f.session" if field.name == "session" else "c.name"
            where = f"({column} between ? and ? or {column} between ? and ?)"
            if field.name == "session":
                where = f"c.id in (select f.chat from files f where {where})"  # noqa: S608
            return where, [text.lower(), text.lower() + LAST, text, text + LAST]
        if field.name == "project" and field.comparison == "==":
            return "c.project = ?", [text]
        if field.name == "project":
            own, values = self._contains("c.project", text)
            other, more = self._contains("f.project", text, "files f")
            return f"({own} or c.id in (select f.chat from files f where {other}))", [*values, *more]  # noqa: S608
        if field.name == "title":
            return self._contains("c.title", text, is_whole=field.comparison == "==")
        return "true", []  # a message field does not filter a list of chats

    def _contains(self, column: str, text: str, table: str = "chats c", *, is_whole: bool = False) -> Condition:
        """Return the condition that a column contains a text, or is that text, regardless of case and of how accents
        are written.

        The engines do so for ASCII only, and differ in the rest.
        """
        if text.isascii():
            return f"{column} like ? escape '\\'", [_exactly(text) if is_whole else _like(text)]
        wanted = _folded(text)
        rows = self._visible.execute(f"select distinct {column} from {table} where {column} is not null")  # noqa: S608
        accepted = [value for (value,) in rows if (_folded(value) == wanted if is_whole else wanted in _folded(value))]
        return f"{column} in (select value from json_each(?))", [array(accepted)]  # noqa: S608

    def _owner(self, name: str) -> Condition:
        """Return the condition on the owner of a chat, by machine: on a team server their names begin with the person's
        handle.

        A store does not decide which chats of others there are: for it, all are the reader's.
        """
        if name in EVERYONE:
            return "true", []
        return self._contains("c.machines", f"\n{name}/")

    def _state(self, name: str) -> Condition:
        if name in ("live", "pinned"):
            return HAS_SESSION, [array(sorted(self._scope.live if name == "live" else self._scope.pinned))]
        if name == "archived":
            return "c.archived", []
        if name in ("image", "thinking", "diff"):
            return f"c.id in (select f.chat from files f where f.has_{name})", []  # noqa: S608
        if name == "agent":
            return "c.id in (select f.chat from files f where f.agent is not null)", []
        if name == "abandoned":
            return "c.branches > 1", []
        return ERRORS, []

    def _read(self, statement: str, values: list[Any]) -> list[StoredChat]:
        rows = self._visible.execute(statement, values)
        return [
            StoredChat(number, decode_overview(overview), bool(archived), tokens, cost, _names(machines), *more)
            for number, overview, archived, tokens, cost, machines, *more in rows
        ]


def _names(lines: str) -> tuple[str, ...]:
    return tuple(readable(name) for name in lines.split("\n") if name)


def _comparison(field: Field) -> str:
    return {"=": "=", ">": ">", "<": "<", ">=": ">=", "<=": "<="}[field.comparison]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _like(text: str) -> str:
    return f"%{_exactly(text)}%"


def _exactly(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


EVERYONE: Final = ("me", "team", "org")
HAS_SESSION: Final = "c.id in (select f.chat from files f where f.session in (select value from json_each(?)))"
ERRORS: Final = (
    "exists (select 1 from files f join records r on r.file = f.id join blocks b on b.record = r.id"
    " where f.chat = c.id and b.state = 'error')"
)
FIND: Final = """
select id from chats where name between ? and ?
union select chat from files where session between ? and ?
union select chat from files where agent between ? and ?
union select f.chat from records r join files f on f.id = r.file where r.uuid between ? and ?
union select f.chat from records r join files f on f.id = r.file where r.message between ? and ?
"""
NAMED: Final = """
select id from chats where name in (select value from json_each(?))
union select chat from files where session in (select value from json_each(?))
"""
TITLE_TEXT: Final = """
coalesce((select case when replace(p.text, rtrim(c.title, '…'), '') <> p.text then p.text end from records p
  where p.file = c.title_file and p.text is not null order by p.number limit 1), c.title)
"""
"""The text that is searched as the title of chat `c`: the whole first prompt if the title is its beginning."""
