"""Count the matches of a query by chat: the engine counts them, over all chats."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import apsw
import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.store.local.text import SCHEMA
from backscroll.store.sql.statements import select

MAX_FILES: Final = 60_000
"""The most files that the engine counts at once."""


class ChatSizes(NamedTuple):
    """The sizes and ages of a library's chats; computed once for many queries."""

    chat_of: Mapping[int, int]
    """The chat of each file."""
    ages: Mapping[int, int]
    """The rank of the chats by age, 0 for the one that was active last."""
    sizes: Mapping[int, int]
    """The number of passages of each chat."""
    usual_size: float
    """The average number of passages of a chat."""
    newest: int
    """The id of the newest passage."""
    unlisted: tuple[int, ...]
    """Files with passages that no search finds, because no list has their chats."""
    frequencies: dict[str, int]
    """The number of passages with a word, for words looked up so far."""

    @classmethod
    def of(cls, connection: apsw.Connection, searcher: tantivy.Searcher) -> "ChatSizes":
        """Compute the sizes of the current state."""
        ages = {chat: age for age, (chat,) in enumerate(select(connection, BY_AGE))}
        files = select(connection, "select id, chat from files where chat is not null")
        chat_of = {file: chat for file, chat in files if chat in ages}
        by_file = {bucket["key"]: bucket["doc_count"] for bucket in _by_file(searcher, Engine.all_query(), chat_of, {})}
        sizes = Counter[int]()
        for file, count in by_file.items():
            if file in chat_of:
                sizes[chat_of[file]] += count
        ((newest,),) = select(connection, "select coalesce(max(id), 0) from blocks")
        usual = max(1.0, searcher.num_docs / max(1, len(ages)))
        return cls(chat_of, ages, sizes, usual, newest, tuple(sorted(by_file.keys() - chat_of.keys())), {})


def count_by_chat(
    searcher: tantivy.Searcher, query: Engine, chat_of: Mapping[int, int], allowed: Collection[int] | None = None
) -> dict[int, int]:
    """Return the number of matching passages by chat, only in the allowed files."""
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
    """Return the time of the newest matching passage by chat, or of the oldest."""
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
    """Return the matches by file, with further aggregations for each file."""
    aggregations: dict[str, Any] = {"files": {"terms": {"field": "file", "size": MAX_FILES}}}
    if more:
        aggregations["files"]["aggs"] = more
    highest = max(chat_of, default=0)
    if highest <= MAX_FILES:
        buckets: list[dict[str, Any]] = searcher.aggregate(query, aggregations)["files"]["buckets"]
        return buckets
    buckets = []
    for first in range(0, highest + 1, MAX_FILES):
        within = Engine.range_query(SCHEMA, "file", FieldType.Unsigned, first, first + MAX_FILES, include_upper=False)
        part = Engine.boolean_query([(Occur.Must, query), (Occur.Must, within)])
        buckets += searcher.aggregate(part, aggregations)["files"]["buckets"]
    return buckets


BY_AGE: Final = "select id from chats where not silent order by coalesce(last_active, 0) desc, name desc"
