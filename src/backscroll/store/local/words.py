"""The words of the local store: what is looked for, as tantivy understands it. Nothing a user typed is parsed by it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.store.local.matches import count_by_chat, times_by_chat
from backscroll.store.local.snapshot import Snapshot
from backscroll.store.local.text import SCHEMA
from backscroll.store.local.visible import VisibleRows
from backscroll.store.search import nodes
from backscroll.store.search.engine import ChatCount, FactCount, Match, said_among
from backscroll.store.sql.chats import ChatRows

MAX_FACTS: Final = 1000
"""How many roles, tools and marks are counted; a library has a few dozen."""


class TantivyWords:
    """The text index at one moment, for one asker."""

    finds_unlisted = True

    def __init__(self, rows: VisibleRows, state: Snapshot) -> None:
        self.hidden = state.hidden
        self.marks = state.marks
        self._searcher = state.searcher
        self._shape = state.sizes
        self._rows = rows
        self._visible: list[int] | None = None
        self._is_limited = not rows.is_everything

    @property
    def total(self) -> int:
        """How many passages there are."""
        return self._searcher.num_docs

    @property
    def newest(self) -> int:
        """The id of the newest passage."""
        return self._shape.newest

    @property
    def usual_size(self) -> float:
        """How many passages a chat has on average."""
        return self._shape.usual_size

    def visible_files(self) -> list[int] | None:
        """The files that a query has to be limited to."""
        if self._is_limited and self._visible is None:
            self._visible = ChatRows(self._rows).visible_files()
        return self._visible

    def prepare(self, words: Iterable[str]) -> None:
        """Nothing to do: looking up a word takes no time."""

    def frequency(self, word: str) -> int:
        """How many passages have a word; includes deleted passages until segments are merged."""
        return self._searcher.doc_freq("text", word)

    def visible_frequency(self, word: str) -> int:
        """Exactly how many passages have a word."""
        query = nodes.HasWord(word)
        files = self.visible_files()
        within = query if files is None else nodes.EachOf((query, nodes.InFiles(tuple(files))))
        return self._searcher.search(engine_query(within), limit=1).count or 0  # type: ignore[attr-defined]  # no stub

    def known(self, words: Iterable[str]) -> set[str]:
        """Which of these words the index has."""
        return {word for word in words if self._searcher.doc_freq("text", word)}

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words with this beginning."""
        return self._searcher.terms_with_prefix("text", beginning, limit=limit)

    def tools(self) -> list[str]:
        """The names of tools."""
        return [name.removeprefix("tool:") for name, _ in self._searcher.terms_with_prefix("facts", "tool:")]

    def count_by_chat(self, query: nodes.Node, files: Collection[int] | None = None) -> dict[int, int]:
        """The number of matching passages by chat."""
        return count_by_chat(self._searcher, engine_query(query), self._shape.chat_of, files)

    def said_by_chat(self, query: nodes.Node) -> dict[int, ChatCount]:
        """The number of matching passages by chat, and of those among them that were said."""
        return said_among(self.count_by_chat, query)

    def times_by_chat(self, query: nodes.Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """The time of the newest matching passage by chat, or of the oldest."""
        return times_by_chat(self._searcher, engine_query(query), self._shape.chat_of, files, oldest=oldest)

    def best(self, query: nodes.Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """The best passages: bm25, by who said it."""
        found = self._searcher.search(engine_query(query), limit=limit, count=False, weight_by_field="weight").hits
        return self._placed(found, files)

    def by_time(
        self, query: nodes.Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """The newest passages, or the oldest."""
        order = tantivy.Order.Asc if oldest else tantivy.Order.Desc
        found = self._searcher.search(
            engine_query(query), limit=limit, offset=offset, count=False, order_by_field="time", order=order
        ).hits
        return self._placed(found, files)

    def facts(self, query: nodes.Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """How many matching passages have each fact, and how many are of each time or later."""
        asked: dict[str, Any] = {"facts": {"terms": {"field": "facts", "size": MAX_FACTS}}}
        for name, moment in since.items():
            asked[name] = {"range": {"field": "time", "ranges": [{"key": "in", "from": moment // 1000}]}}
        found = self._searcher.aggregate(engine_query(query), asked)
        facts = {str(bucket["key"]): FactCount(int(bucket["doc_count"])) for bucket in found["facts"]["buckets"]}
        # The engine adds a bucket for what is before the range.
        later = {
            name: sum(int(bucket["doc_count"]) for bucket in found[name]["buckets"] if bucket["key"] == "in")
            for name in since
        }
        return facts, later

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:  # noqa: ARG002 - it knows them all
        """The places of chats by age."""
        return self._shape.ages

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:  # noqa: ARG002
        """How many passages chats have."""
        return self._shape.sizes

    def _placed(self, found: Sequence[tuple[Any, Any]], allowed: Collection[int] | None) -> list[Match]:
        addresses = [address for _, address in found]
        if not addresses:
            return []
        files = self._searcher.fast_field_values("file", addresses)
        blocks = self._searcher.fast_field_values("block", addresses)
        chat_of = self._shape.chat_of
        return [
            Match(
                score,
                chat_of.get(file, 0) if isinstance(file, int) and (allowed is None or file in allowed) else 0,
                int(block or 0),
            )
            for (score, _), file, block in zip(found, files, blocks, strict=True)
        ]


def engine_query(node: nodes.Node) -> Engine:
    """What is looked for, as the engine understands it."""
    match node:
        case nodes.HasWord(word):
            return Engine.term_query(SCHEMA, "text", word)
        case nodes.HasPhrase(words, gap):
            return Engine.phrase_query(SCHEMA, "text", list(words), slop=gap)
        case nodes.HasBeginning((only,)):
            everything = Engine.fuzzy_term_query(SCHEMA, "text", only, distance=0, prefix=True)
            return Engine.const_score_query(everything, 1.0)
        case nodes.HasBeginning(words):
            return Engine.phrase_prefix_query(SCHEMA, "text", list(words))
        case nodes.SomeOf(parts):
            return Engine.boolean_query([(Occur.Should, engine_query(part)) for part in parts])
        case nodes.EachOf(parts, but_not, also):
            return Engine.boolean_query([
                *((Occur.Must, engine_query(part)) for part in parts),
                *((Occur.MustNot, engine_query(part)) for part in but_not),
                *((Occur.Should, engine_query(part)) for part in also),
            ])  # fmt: skip
        case nodes.Weighed(part, factor):
            return Engine.boost_query(engine_query(part), factor)
        case nodes.Worth(part, score):
            return Engine.const_score_query(engine_query(part), score)
        case nodes.Everything():
            return Engine.all_query()
        case nodes.Nothing() | nodes.InFiles(()) | nodes.IsOneOf(()):
            return Engine.empty_query()
        case _:
            return Engine.const_score_query(_condition(node), 0.0)


def _condition(node: nodes.Node) -> Engine:
    match node:
        case nodes.IsFact(name):
            return Engine.term_query(SCHEMA, "facts", name, "basic")
        case nodes.InFiles(files):
            return Engine.term_set_query(SCHEMA, "file", files)
        case nodes.IsOneOf(blocks):
            return Engine.term_set_query(SCHEMA, "block", blocks)
        case nodes.IsUpTo(block):
            return Engine.range_query(SCHEMA, "block", FieldType.Unsigned, upper_bound=block)
        case nodes.IsFrom(time):
            return Engine.range_query(SCHEMA, "time", FieldType.Integer, lower_bound=time)
        case nodes.IsBefore(time):
            return Engine.range_query(SCHEMA, "time", FieldType.Integer, upper_bound=time, include_upper=False)
        case nodes.HasPart(letters):
            return Engine.regex_query(SCHEMA, "text", f".*{letters}.*")
        case _:
            raise TypeError(node)
