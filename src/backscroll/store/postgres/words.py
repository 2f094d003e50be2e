"""The word engine of PostgreSQL: queries become tsqueries and conditions. PostgreSQL parses no typed text."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from backscroll.store.postgres.indexing import quoted
from backscroll.store.postgres.sql_query import SqlQuery
from backscroll.store.search import nodes
from backscroll.store.search.engine import (
    MAX_COUNTED,
    SPARE,
    ChatCount,
    FactCount,
    Match,
    live_endings,
    said_among,
)
from backscroll.store.search.words import STAGES
from backscroll.store.search.worths import rarity_of, weighed
from backscroll.store.sql.statements import RowReader, ScopedRows, array, select

MAX_TOOLS: Final = 10_000


def marks_in(rows: RowReader) -> list[int]:
    """Return the last passage of each stage that is searchable."""
    noted = dict(select(rows, "select name, value from marks"))
    return [int(noted.get(f"stage {number}", 0)) for number in range(len(STAGES))]


class PgWords:
    """The words at one moment, for one reader: PostgreSQL itself limits them to what the reader may see."""

    hidden: tuple[nodes.Node, ...] = ()
    finds_unlisted = False

    def __init__(self, rows: ScopedRows, build: int | None) -> None:
        """Read the words of a build; None if passages are of several builds, which their ids name."""
        self._rows = rows
        self.build = build
        self._by_word: dict[str, dict[int, ChatCount]] = {}
        self._counts: dict[str, dict[int, ChatCount]] = {}

    @property
    def marks(self) -> list[int]:
        """The last passage of each stage that is searchable."""
        return marks_in(self._rows)

    @cached_property
    def _build(self) -> tuple[int, int, bool]:
        ((newest, passages, has_parts),) = select(self._rows, BUILD)
        return newest, passages, has_parts

    @property
    def total(self) -> int:
        """The number of passages."""
        return self._build[1]

    @property
    def newest(self) -> int:
        """The id of the newest passage."""
        return self._build[0]

    @cached_property
    def usual_size(self) -> float:
        """The average number of passages of a chat."""
        ((chats,),) = select(self._rows, "select count(*) from chats where not silent")
        return max(1.0, self.total / max(1, int(chats)))

    @property
    def sees_everything(self) -> bool:
        """Whether nothing is hidden from the reader."""
        return self._rows.is_everything

    def visible_files(self) -> list[int] | None:
        """Return None: PostgreSQL itself limits what is visible."""
        return None

    def prepare(self, words: Iterable[str]) -> None:
        """Count these words by chat, in one statement: ranking needs all of these counts."""
        fresh = set(words) - self._by_word.keys()
        known = sorted(self.known(fresh))
        counts = self._counted([quoted(word) for word in known])
        self._by_word |= {word: {} for word in fresh} | dict(zip(known, counts, strict=True))

    def frequency(self, word: str) -> int:
        """Return the number of visible passages with a word."""
        return sum(count.found for count in self._of_word(word).values())

    def most(self, word: str) -> int:
        """Return the number of visible passages with a word; the exact number serves as the bound."""
        return self.frequency(word)

    def visible_frequency(self, word: str) -> int:
        """Return the number of visible passages with a word; all counts here are of visible ones."""
        return self.frequency(word)

    def known(self, words: Iterable[str]) -> set[str]:
        """Return those of the words that are, or were, in some passage."""
        distinct = set(words)
        known = {word for word in distinct if self._by_word.get(word)}
        if uncounted := sorted(distinct - self._by_word.keys()):
            known |= {word for (word,) in self._rows.execute("select known_words(:words)", {"words": uncounted})}
        return known

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Return words with this beginning; many come without frequency. The database also has words of others."""
        is_counted = limit <= MAX_COUNTED
        values = (beginning, beginning + "\U0010ffff", limit * SPARE if is_counted else limit)
        words = [word for (word,) in select(self._rows, "select words_from(?, ?, ?)", values)]
        return live_endings(self, words, limit) if is_counted else [(word, 0) for word in words]

    def tools(self) -> list[str]:
        """Return the names of tools."""
        return [word.removeprefix("#tool:") for word, _ in self.endings("#tool:", MAX_TOOLS)]

    def count_by_chat(self, query: nodes.Node, files: Collection[int] | None = None) -> dict[int, int]:
        """Return the number of matching passages by chat."""
        sql = self._asked(query, files)
        if sql.lexemes is not None:
            return {chat: count.found for chat, count in self.said_by_chat(query).items()}
        return dict(select(self._rows, f"select w.chat, {self._count} {sql.without_words} group by w.chat", sql.values))

    def said_by_chat(self, query: nodes.Node) -> dict[int, ChatCount]:
        """Return the number of matching passages by chat, and the number of titles, prompts and answers among them."""
        if isinstance(query, nodes.HasWord):
            return self._of_word(query.word)
        lexemes = self._asked(query, None).lexemes
        if lexemes is None:
            return said_among(self.count_by_chat, query)
        return self._counted([lexemes])[0]

    def _of_word(self, word: str) -> dict[int, ChatCount]:
        self.prepare([word])
        return self._by_word[word]

    def _counted(self, queries: list[str]) -> list[dict[int, ChatCount]]:
        """Count the passages of each chat that match each query; ranking repeats queries, so counts are kept."""
        fresh = [query for query in queries if query not in self._counts]
        self._counts |= {query: {} for query in fresh}
        if fresh:
            rows = self._rows.execute("select * from chat_counts(:queries)", {"queries": fresh})
            for number, chat, matches, said_matches in rows:
                self._counts[fresh[number - 1]][chat] = ChatCount(matches, said_matches)
        return [self._counts[query] for query in queries]

    def times_by_chat(self, query: nodes.Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """Return the time of the newest matching passage by chat, or of the oldest."""
        sql = self._asked(query, files)
        choose = "min" if oldest else "max"
        return dict(
            select(self._rows, f"select w.chat, {choose}(w.time) {sql.without_words} group by w.chat", sql.values)
        )

    def best(self, query: nodes.Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """Return the best passages, in order."""
        sql = self._asked(weighed(query, lambda word: rarity_of(self.frequency(word), self.total)), files)
        if (ranked := sql.ranked()) is not None:
            scope = "" if self.sees_everything else " where w.file in (select id from files)"
            rows = select(self._rows, BEST_PASSAGES + scope, {**ranked, "most": limit})
        else:
            statement = BEST.format(score=sql.score(), matching=sql.matching)
            rows = select(self._rows, statement, {**sql.values, **sql.factors, "most": limit})
        return [Match(float(score), chat, block) for score, chat, block in rows]

    def by_time(
        self, query: nodes.Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """Return the newest passages, or the oldest, in order."""
        sql = self._asked(query, files)
        order = "asc" if oldest else "desc"
        once = "distinct " if self._build[2] else ""
        statement = f"""
          select {once}w.time, w.chat, w.block {sql.without_words}
          order by w.time {order}, w.block limit :most offset :before"""
        rows = select(self._rows, statement, {**sql.values, "most": limit, "before": offset})
        return [Match(time, chat, block) for time, chat, block in rows]

    def facts(self, query: nodes.Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """Count matching passages by fact, and those at or after each time."""
        facts: dict[str, FactCount] = {}
        later = dict.fromkeys(since, 0)
        names = sorted(since, key=lambda name: since[name])
        for having, reached, passages, example in self._fact_counts(query, sorted(at // 1000 for at in since.values())):
            for fact in having:
                before = facts.get(fact)
                facts[fact] = FactCount(passages + (before.found if before else 0), example)
            for name in names[:reached]:
                later[name] += passages
        return facts, later

    def _fact_counts(self, query: nodes.Node, times: list[int]) -> Iterable[Any]:
        sql = self._asked(query, None)
        if sql.lexemes is not None:
            return select(self._rows, FACT_COUNTS, {"query": sql.lexemes, "times": times})
        counts = FACTS.format(count=self._count, matching=sql.without_words)
        return select(self._rows, counts, {**sql.values, "times": times})

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:
        """Rank these chats by age: lower for one that was active later."""
        return {chat: age for age, (chat,) in enumerate(select(self._rows, BY_AGE, (array(chats),)))}

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:
        """Return the number of passages of each of these chats."""
        return dict(select(self._rows, SIZES, (array(chats),)))

    def words_with(self, letters: str) -> list[str]:
        """Return the words that contain these letters."""
        return [word for (word,) in select(self._rows, "select words_with(?)", (letters,))]

    @property
    def _count(self) -> str:
        return "count(distinct w.block)" if self._build[2] else "count(*)"

    def _asked(self, query: nodes.Node, files: Collection[int] | None) -> SqlQuery:
        return SqlQuery(self, query, files)


BUILD: Final = "select last_block, passages, has_parts from builds where id = this_build()"
BY_AGE: Final = """
select id from chats where id in (select value from json_each(?)) order by coalesce(last_active, 0) desc, name desc
"""
SIZES: Final = """
select chat, cast(sum(passages) as bigint) from files where chat in (select value from json_each(?)) group by chat
"""
BEST: Final = """
select min(w.weight) * ({score}) as score, w.chat, w.block {matching}
group by w.chat, w.block order by score desc, block limit :most
"""
BEST_PASSAGES: Final = """
select score, chat, block from best_passages(:queries, :worths, :needed, :most) w"""
FACT_COUNTS: Final = "select facts, later, found, example from fact_counts(:query, cast(:times as bigint[]))"
FACTS: Final = """
select w.facts, width_bucket(w.time, cast(:times as bigint[])), {count}, min(w.block) {matching} group by 1, 2
"""
