"""How the matches of a query are spread over the chats: counted by the engine, over all of them."""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import apsw
import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.store.local.text import SCHEMA
from backscroll.store.sql.statements import select

MAX_FILES: Final = 60_000
"""How many files the engine counts at once."""


class ChatSizes(NamedTuple):
    """How a library is divided into chats; computed once for many queries."""

    chat_of: Mapping[int, int]
    """The chat that each file is part of."""
    ages: Mapping[int, int]
    """The places of the chats by age, 0 for the one that was active last."""
    sizes: Mapping[int, int]
    """How many passages each chat has."""
    usual_size: float
    """How many passages a chat has on average."""
    newest: int
    """The id of the newest passage."""

    @classmethod
    def of(cls, connection: apsw.Connection, searcher: tantivy.Searcher) -> "ChatSizes":
        """The current state."""
        ages = {chat: age for age, (chat,) in enumerate(select(connection, BY_AGE))}
        files = select(connection, "select id, chat from files where chat is not null")
        chat_of = {file: chat for file, chat in files if chat in ages}
        sizes = count_by_chat(searcher, Engine.all_query(), chat_of)
        ((newest,),) = select(connection, "select coalesce(max(id), 0) from blocks")
        return cls(chat_of, ages, sizes, sum(sizes.values()) / max(1, len(sizes)), newest)


def count_by_chat(
    searcher: tantivy.Searcher, query: Engine, chat_of: Mapping[int, int], allowed: Collection[int] | None = None
) -> dict[int, int]:
    """The number of matching passages by chat, only in the allowed files."""
    counts: dict[int, int] = {}
    for bucket in _by_file(searcher, query, chat_of, {}):
        file = bucket["key"]
        chat = chat_of.get(file)
        if chat is not None and (allowed is None or file in allowed):
            counts[chat] = counts.get(chat, 0) + bucket["doc_count"]
    return counts


def times_by_chat(
    searcher: tantivy.Searcher,
    query: Engine,
    chat_of: Mapping[int, int],
    allowed: Collection[int] | None,
    *,
    oldest: bool,
) -> dict[int, float]:
    """The time of the newest matching passage by chat, or of the oldest."""
    times: dict[int, float] = {}
    choose = min if oldest else max
    for bucket in _by_file(searcher, query, chat_of, {"time": {choose.__name__: {"field": "time"}}}):
        file, time = bucket["key"], float(bucket["time"]["value"])
        if file in chat_of and (allowed is None or file in allowed):
            chat = chat_of[file]
            times[chat] = choose(times.get(chat, time), time)
    return times


def _by_file(
    searcher: tantivy.Searcher, query: Engine, chat_of: Mapping[int, int], more: dict[str, Any]
) -> list[dict[str, Any]]:
    """The matches by file, with more about those of each file."""
    asked: dict[str, Any] = {"files": {"terms": {"field": "file", "size": MAX_FILES}}}
    if more:
        asked["files"]["aggs"] = more
    highest = max(chat_of, default=0)
    if highest <= MAX_FILES:
        found: list[dict[str, Any]] = searcher.aggregate(query, asked)["files"]["buckets"]
        return found
    found = []
    for first in range(0, highest + 1, MAX_FILES):
        within = Engine.range_query(SCHEMA, "file", FieldType.Unsigned, first, first + MAX_FILES, include_upper=False)
        part = Engine.boolean_query([(Occur.Must, query), (Occur.Must, within)])
        found += searcher.aggregate(part, asked)["files"]["buckets"]
    return found


BY_AGE: Final = "select id from chats where not silent order by coalesce(last_active, 0) desc, name desc"
