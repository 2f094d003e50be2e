"""The words of PostgreSQL: what is looked for, as a tsquery and conditions. Nothing a user typed is parsed by it."""

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from backscroll.store.postgres.indexing import quoted
from backscroll.store.postgres.sql_query import K1, MAX_NAMED_WORDS, SqlQuery
from backscroll.store.search import nodes
from backscroll.store.search.engine import ChatCount, FactCount, Match, said_among
from backscroll.store.search.words import STAGES
from backscroll.store.sql.statements import RowReader, ScopedRows, array, select

MAX_TOOLS: Final = 10_000
B: Final = 0.75
"""The usual constant of bm25: how much the length of a passage counts."""


def marks_in(rows: RowReader) -> list[int]:
    """The last passage of each stage that is searchable."""
    noted = dict(select(rows, "select name, value from marks"))
    return [int(noted.get(f"stage {number}", 0)) for number in range(len(STAGES))]


class PgWords:
    """The words at one moment, for one asker: PostgreSQL itself limits them to what the asker may see."""

    hidden: tuple[nodes.Node, ...] = ()
    finds_unlisted = False

    def __init__(self, rows: ScopedRows, build: int | None) -> None:
        """`build` is the one that passages are of; None if they are of several, and their ids say which."""
        self._rows = rows
        self.build = build
        self._by_word: dict[str, dict[int, ChatCount]] = {}
        self._counts: dict[str, dict[int, ChatCount]] = {}

    @property
    def marks(self) -> list[int]:
        """The last passage of each stage that is searchable."""
        return marks_in(self._rows)

    @cached_property
    def _build(self) -> tuple[int, int, int, bool]:
        ((newest, passages, words, has_parts),) = select(self._rows, BUILD)
        return newest, passages, words, has_parts

    @property
    def total(self) -> int:
        """How many passages there are."""
        return self._build[1]

    @property
    def newest(self) -> int:
        """The id of the newest passage."""
        return self._build[0]

    @cached_property
    def usual_size(self) -> float:
        """How many passages a chat has on average."""
        ((chats,),) = select(self._rows, "select count(*) from chats where not silent")
        return max(1.0, self.total / max(1, int(chats)))

    @property
    def sees_everything(self) -> bool:
        """Whether nothing is hidden from the asker."""
        return self._rows.is_everything

    def visible_files(self) -> list[int] | None:
        """None: PostgreSQL sees nothing else."""
        return None

    def prepare(self, words: Iterable[str]) -> None:
        """Count these words by chat, in one statement: the rank asks for all of it."""
        fresh = set(words) - self._by_word.keys()
        known = sorted(self.known(fresh))
        counts = self._counted([quoted(word) for word in known])
        self._by_word |= {word: {} for word in fresh} | dict(zip(known, counts, strict=True))

    def frequency(self, word: str) -> int:
        """How many passages have a word that the asker may see."""
        return sum(count.found for count in self._of_word(word).values())

    def visible_frequency(self, word: str) -> int:
        """The same."""
        return self.frequency(word)

    def known(self, words: Iterable[str]) -> set[str]:
        """Which of these words are in some passage, or were."""
        given = set(words)
        found = {word for word in given if self._by_word.get(word)}
        if asked := sorted(given - self._by_word.keys()):
            found |= {word for (word,) in self._rows.execute("select known_words(:words)", {"words": asked})}
        return found

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words with this beginning; of many, not how frequent they are."""
        values = (beginning, beginning + "\U0010ffff", limit)
        found = [word for (word,) in select(self._rows, "select words_from(?, ?, ?)", values)]
        return [(word, self.frequency(word) if limit < MAX_NAMED_WORDS else 0) for word in found]

    def tools(self) -> list[str]:
        """The names of tools."""
        return [word.removeprefix("#tool:") for word, _ in self.endings("#tool:", MAX_TOOLS)]

    def count_by_chat(self, query: nodes.Node, files: Collection[int] | None = None) -> dict[int, int]:
        """The number of matching passages by chat."""
        asked = self._asked(query, files)
        if asked.lexemes is not None:
            return {chat: count.found for chat, count in self.said_by_chat(query).items()}
        return dict(
            select(self._rows, f"select w.chat, {self._count} {asked.without_words} group by w.chat", asked.values)
        )

    def said_by_chat(self, query: nodes.Node) -> dict[int, ChatCount]:
        """The number of matching passages by chat, and of those among them that were said."""
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
        """How many passages of each chat match each of these; a rank asks again for what was counted."""
        fresh = [query for query in queries if query not in self._counts]
        self._counts |= {query: {} for query in fresh}
        if fresh:
            rows = self._rows.execute("select * from chat_counts(:queries)", {"queries": fresh})
            for number, chat, found, said in rows:
                self._counts[fresh[number - 1]][chat] = ChatCount(found, said)
        return [self._counts[query] for query in queries]

    def times_by_chat(self, query: nodes.Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """The time of the newest matching passage by chat, or of the oldest."""
        asked = self._asked(query, files)
        choose = "min" if oldest else "max"
        return dict(
            select(self._rows, f"select w.chat, {choose}(w.time) {asked.without_words} group by w.chat", asked.values)
        )

    def best(self, query: nodes.Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """The best passages: bm25 with one occurrence of each word, then those again with how often each occurs."""
        asked = self._asked(query, files)
        base, slope = self._norm
        if (ranked := asked.ranked()) is not None:
            scope = "" if self.sees_everything else " where w.file in (select id from files)"
            values = {**ranked, "base": base, "slope": slope, "most": limit}
            found = select(self._rows, BEST_PASSAGES + scope, values)
        else:
            first, second = asked.scores()
            norm = f"{base} + {slope} * w.length"
            statement = BEST.format(norm=norm, matching=asked.matching, first=first, second=second)
            found = select(self._rows, statement, {**asked.values, **asked.factors, "most": limit})
        return [Match(float(score), chat, block) for score, chat, block in found]

    def by_time(
        self, query: nodes.Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """The newest passages, or the oldest."""
        asked = self._asked(query, files)
        order = "asc" if oldest else "desc"
        once = "distinct " if self._build[3] else ""
        statement = f"""
          select {once}w.time, w.chat, w.block {asked.without_words}
          order by w.time {order}, w.block limit :most offset :before"""
        found = select(self._rows, statement, {**asked.values, "most": limit, "before": offset})
        return [Match(time, chat, block) for time, chat, block in found]

    def facts(self, query: nodes.Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """How many matching passages have each fact, and how many are of each time or later."""
        facts: dict[str, FactCount] = {}
        later = dict.fromkeys(since, 0)
        names = sorted(since, key=lambda name: since[name])
        for having, reached, found, example in self._fact_counts(query, sorted(at // 1000 for at in since.values())):
            for fact in having:
                before = facts.get(fact)
                facts[fact] = FactCount(found + (before.found if before else 0), example)
            for name in names[:reached]:
                later[name] += found
        return facts, later

    def _fact_counts(self, query: nodes.Node, times: list[int]) -> Iterable[Any]:
        asked = self._asked(query, None)
        if asked.lexemes is not None:
            return select(self._rows, FACT_COUNTS, {"query": asked.lexemes, "times": times})
        counts = FACTS.format(count=self._count, matching=asked.without_words)
        return select(self._rows, counts, {**asked.values, "times": times})

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:
        """The places of these chats by age."""
        return {chat: age for age, (chat,) in enumerate(select(self._rows, BY_AGE, (array(chats),)))}

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:
        """How many passages these chats have."""
        return dict(select(self._rows, SIZES, (array(chats),)))

    def rarity(self, word: str) -> float:
        """The weight of a word: the rarer, the higher."""
        found = self.frequency(word)
        return math.log(1 + (max(0, self.total - found) + 0.5) / (found + 0.5))

    def words_with(self, letters: str) -> list[str]:
        """The words that contain something."""
        return [word for (word,) in select(self._rows, "select words_with(?)", (letters,))]

    @property
    def _count(self) -> str:
        return "count(distinct w.block)" if self._build[3] else "count(*)"

    @property
    def _norm(self) -> tuple[float, float]:
        """By how much the length of a passage counts: what each has, and what each of its words adds."""
        _, passages, words, _ = self._build
        return K1 * (1 - B), K1 * B / max(1.0, words / max(1, passages))

    def _asked(self, query: nodes.Node, files: Collection[int] | None) -> SqlQuery:
        return SqlQuery(self, query, files)


BUILD: Final = "select last_block, passages, words, has_parts from builds where id = this_build()"
BY_AGE: Final = """
select id from chats where id in (select value from json_each(?)) order by coalesce(last_active, 0) desc, name desc
"""
SIZES: Final = """
select chat, cast(sum(passages) as bigint) from files where chat in (select value from json_each(?)) group by chat
"""
BEST: Final = """
with matching as (select w.block, w.chat, w.weight, w.tsv, {norm} as norm {matching}),
first as (
  select * from (select *, weight * ({first}) as score from matching) scored order by score desc, block limit :most)
select max(weight * ({second})) as score, chat, block from first group by chat, block order by score desc, block
"""
BEST_PASSAGES: Final = """
select score, chat, block
from best_passages(:queries, :worths, :are_words, :needed, :base, :slope, :most) w"""
FACT_COUNTS: Final = "select facts, later, found, example from fact_counts(:query, cast(:times as bigint[]))"
FACTS: Final = """
select w.facts, width_bucket(w.time, cast(:times as bigint[])), {count}, min(w.block) {matching} group by 1, 2
"""
