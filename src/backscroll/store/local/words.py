"""The word engine of the local store: queries for tantivy. The engine parses nothing that a user typed."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.store.local.matches import count_by_chat, times_by_chat
from backscroll.store.local.snapshot import Snapshot
from backscroll.store.local.text import SCHEMA, TIMES, factor_with
from backscroll.store.local.visible import VisibleRows
from backscroll.store.search import nodes
from backscroll.store.search.engine import (
    MAX_COUNTED,
    SPARE,
    ChatCount,
    FactCount,
    Match,
    live_endings,
    most_of_a_rare_word,
    said_among,
)
from backscroll.store.search.worths import STEPS, rarity_of, weighed
from backscroll.store.sql.chats import ChatRows

MAX_FACTS: Final = 1000
"""The most roles, tools and flags that are counted; a library has a few dozen."""


class TantivyWords:
    """The text index at one moment, for one reader."""

    finds_unlisted = True

    def __init__(self, rows: VisibleRows, state: Snapshot) -> None:
        self.hidden = state.hidden
        self.marks = state.marks
        self._searcher = state.searcher
        self._shape = state.sizes
        self._rows = rows
        self._visible: list[int] | None = None
        self._is_limited = not rows.is_everything
        self._frequencies = state.sizes.frequencies
        self._said: dict[nodes.Node, dict[int, ChatCount]] = {}
        self._not_found = (*self.hidden, *([nodes.InFiles(state.sizes.unlisted)] if state.sizes.unlisted else []))
        self._is_exact = not self._not_found and not state.has_deleted

    @property
    def total(self) -> int:
        """The number of passages."""
        return self._searcher.num_docs

    @property
    def newest(self) -> int:
        """The id of the newest passage."""
        return self._shape.newest

    @property
    def usual_size(self) -> float:
        """The average number of passages of a chat."""
        return self._shape.usual_size

    def visible_files(self) -> list[int] | None:
        """Return the files that a query must be limited to."""
        if self._is_limited and self._visible is None:
            self._visible = ChatRows(self._rows).visible_files()
        return self._visible

    def prepare(self, words: Iterable[str]) -> None:
        """Do nothing: looking up a word takes no time."""

    def frequency(self, word: str) -> int:
        """Return the number of existing passages with a word; the engine also has deleted ones until it merges
        files.
        """
        if word not in self._frequencies:
            passages = self.most(word)
            if passages and not self._is_exact:
                with_word = nodes.HasWord(word)
                if passages <= most_of_a_rare_word(self.total):  # ranking needs the count by chat, too
                    passages = sum(count.found for count in self.said_by_chat(with_word).values())
                else:
                    passages = self._count(nodes.EachOf((with_word,), self._not_found))
            self._frequencies[word] = passages
        return self._frequencies[word]

    def most(self, word: str) -> int:
        """Return an upper bound of the passages with a word; looking it up takes no time."""
        return self._searcher.doc_freq("text", word)

    def visible_frequency(self, word: str) -> int:
        """Return the number of visible passages with a word."""
        files = self.visible_files()
        if files is None:
            return self.frequency(word)
        return self._count(nodes.EachOf((nodes.HasWord(word), nodes.InFiles(tuple(files))), self.hidden))

    def _count(self, query: nodes.Node) -> int:
        counted = Engine.const_score_query(engine_query(query), 0.0)
        return self._searcher.search(counted, limit=1).count or 0  # type: ignore[attr-defined]  # no stub

    def known(self, words: Iterable[str]) -> set[str]:
        """Return those of the words that the index has."""
        return {word for word in words if self._searcher.doc_freq("text", word)}

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Return words with this beginning and the number of passages of each."""
        if limit > MAX_COUNTED:
            return self._searcher.terms_with_prefix("text", beginning, limit=limit)
        return live_endings(
            self, [word for word, _ in self._searcher.terms_with_prefix("text", beginning, limit=limit * SPARE)], limit
        )

    def tools(self) -> list[str]:
        """Return the names of tools."""
        return [name.removeprefix("tool:") for name, _ in self._searcher.terms_with_prefix("facts", "tool:")]

    def count_by_chat(self, query: nodes.Node, files: Collection[int] | None = None) -> dict[int, int]:
        """Return the number of matching passages by chat."""
        return count_by_chat(self._searcher, engine_query(query), self._shape.chat_of, files)

    def said_by_chat(self, query: nodes.Node) -> dict[int, ChatCount]:
        """Return the number of matching passages by chat, and the number of titles, prompts and answers among them."""
        if query not in self._said:
            self._said[query] = said_among(self.count_by_chat, query)
        return self._said[query]

    def times_by_chat(self, query: nodes.Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """Return the time of the newest matching passage by chat, or of the oldest."""
        return times_by_chat(self._searcher, engine_query(query), self._shape.chat_of, files, oldest=oldest)

    def best(self, query: nodes.Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """Return the best passages, in order."""
        worths = engine_query(weighed(query, lambda word: rarity_of(self.frequency(word), self.total)))
        most, unlisted = limit, self._shape.unlisted
        while True:
            results = self._searcher.search(worths, limit=most, count=False, weight_by_field="weight").hits
            if not results:
                return []
            addresses = [address for _, address in results]
            scales = map(_scale, self._values("weight", addresses))
            scores = [round(score * up) * down for (score, _), (up, down) in zip(results, scales, strict=True)]
            matches = list(map(Match, scores, self._chats(addresses, files), self._values("block", addresses)))
            if not unlisted:
                return matches
            of = self._values("file", addresses)
            listed = [match for match, file in zip(matches, of, strict=True) if file not in unlisted]
            if len(results) < most or len(listed) >= limit:
                return listed[:limit]
            most = limit + len(results) - len(listed)  # unlisted passages must not displace listed ones

    def by_time(
        self, query: nodes.Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """Return the newest passages, or the oldest, in order."""
        order = tantivy.Order.Asc if oldest else tantivy.Order.Desc
        results = self._searcher.search(
            engine_query(query), limit=limit, offset=offset, count=False, order_by_field="time", order=order
        ).hits
        if not results:
            return []
        addresses = [address for _, address in results]
        times = [time for time, _ in results]
        return list(map(Match, times, self._chats(addresses, files), self._values("block", addresses)))

    def facts(self, query: nodes.Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """Count matching passages by fact, and those at or after each time."""
        aggregations: dict[str, Any] = {"facts": {"terms": {"field": "facts", "size": MAX_FACTS}}}
        for name, moment in since.items():
            aggregations[name] = {"range": {"field": "time", "ranges": [{"key": "in", "from": moment // 1000}]}}
        buckets = self._searcher.aggregate(engine_query(query), aggregations)
        facts = {str(bucket["key"]): FactCount(int(bucket["doc_count"])) for bucket in buckets["facts"]["buckets"]}
        # The engine adds a bucket for times before the range.
        later = {
            name: sum(int(bucket["doc_count"]) for bucket in buckets[name]["buckets"] if bucket["key"] == "in")
            for name in since
        }
        return facts, later

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:  # noqa: ARG002 - it has all of them
        """Return the rank of all chats by age."""
        return self._shape.ages

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:  # noqa: ARG002
        """Return the number of passages of all chats."""
        return self._shape.sizes

    def _chats(self, addresses: list[Any], allowed: Collection[int] | None) -> list[int]:
        """Return the chats of passages; 0 where the file is not allowed."""
        files, chat_of = self._values("file", addresses), self._shape.chat_of
        if allowed is None:
            return [chat_of.get(file, 0) for file in files]
        return [chat_of.get(file, 0) if file in allowed else 0 for file in files]

    def _values(self, name: str, addresses: list[Any]) -> list[Any]:
        """Return the values of a field for passages; every passage has all fields."""
        return self._searcher.fast_field_values(name, addresses)


@lru_cache(maxsize=10_000)
def _scale(weight: float) -> tuple[float, float]:
    """Return factors that turn the engine's score, with seven digits, into whole steps, and steps into the score."""
    factor = factor_with(weight)
    return STEPS / (factor * TIMES), factor / STEPS


def engine_query(node: nodes.Node) -> Engine:
    """Return a query in the engine's form."""
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
