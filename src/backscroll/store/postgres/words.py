"""The words of PostgreSQL: what is looked for, as a tsquery and conditions. Nothing a user typed is parsed by it."""

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Final

from backscroll.store.postgres.indexing import quoted
from backscroll.store.postgres.sql_query import K1, MAX_NAMED_WORDS, SqlQuery
from backscroll.store.search import nodes
from backscroll.store.search.engine import Match
from backscroll.store.search.words import STAGES
from backscroll.store.sql.statements import RowReader, ScopedRows, array, select

MAX_TOOLS: Final = 10_000
MAX_COUNTED_PASSAGES: Final = 20_000
"""Beyond, it does not matter how frequent a word is."""
FREQUENT: Final = 20
"""Up to one in so many passages, frequencies are counted: the rank depends on them."""
B: Final = 0.75
"""The usual constant of bm25: how much the length of a passage counts."""


def marks_in(rows: RowReader) -> list[int]:
    """The last passage of each stage that is searchable."""
    noted = dict(select(rows, "select name, value from marks"))
    return [int(noted.get(f"stage {number}", 0)) for number in range(len(STAGES))]


class PgWords:
    """The words at one moment, for one asker: PostgreSQL itself limits them to what the asker may see."""

    hidden: tuple[nodes.Node, ...] = ()

    def __init__(self, rows: ScopedRows) -> None:
        self._rows = rows
        self._frequencies: dict[str, int] = {}
        self._counts: dict[str, dict[int, int]] = {}

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

    def frequency(self, word: str) -> int:
        """About how many passages have a word: those that are too many are not counted to the end."""
        if word not in self._frequencies:
            most = max(MAX_COUNTED_PASSAGES, self.total // FREQUENT + 1)
            ((found,),) = select(self._rows, "select frequency(cast(? as tsquery), ?)", (quoted(word), most))
            self._frequencies[word] = found
        return self._frequencies[word]

    def visible_frequency(self, word: str) -> int:
        """How many passages have a word that the asker may see: exactly, unless they are very many."""
        statement = "select visible_frequency(cast(? as tsquery), ?)"
        ((found,),) = select(self._rows, statement, (quoted(word), MAX_COUNTED_PASSAGES))
        return int(found)

    def known(self, words: Iterable[str]) -> set[str]:
        """Which of these words are in some passage, or were."""
        return {word for (word,) in self._rows.execute("select known_words(:words)", {"words": list(words)})}

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
        key = f"{asked.without_words} {asked.values}"
        if key not in self._counts:  # a rank asks again for what was counted to find out how frequent a word is
            statement = f"select w.chat, {self._counted} {asked.without_words} group by w.chat"
            self._counts[key] = dict(select(self._rows, statement, asked.values))
        return self._counts[key]

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
        first, second = asked.scores(self)
        if "tsv" in first:
            statement = BEST.format(norm=self._norm, matching=asked.matching, first=first, second=second)
        else:
            statement = BEST_AGAIN.format(norm=self._norm, matching=asked.without_words, first=first, second=second)
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

    def facts(self, query: nodes.Node, since: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """How many matching passages have each fact, and how many are of each time or later."""
        asked = self._asked(query, None)
        facts = select(self._rows, FACTS.format(matching=asked.without_words), asked.values)
        later = {}
        for name, moment in since.items():
            ((later[name],),) = select(
                self._rows,
                f"select count(distinct w.block) {asked.without_words} and w.time >= :since",
                {**asked.values, "since": moment // 1000},
            )
        return dict(facts), later

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
    def _counted(self) -> str:
        return "count(distinct w.block)" if self._build[3] else "count(*)"

    @property
    def _norm(self) -> str:
        _, passages, words, _ = self._build
        usual = max(1.0, words / max(1, passages))
        return f"{K1} * ({1 - B} + {B / usual} * w.length)"

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
BEST_AGAIN: Final = """
with first as (
  select block, part from (select w.block, w.part, w.weight * ({first}) as score from (
    select w.block, w.part, w.weight, {norm} as norm {matching}) w) scored
  order by score desc, block limit :most)
select max(weight * ({second})) as score, chat, block from (
  select w.*, {norm} as norm from found(array(select block from first)) w join first using (block, part)) w
group by chat, block order by score desc, block
"""
"""The same where the first score needs no words: they are read of the best only."""
FACTS: Final = """
with matching as materialized (select distinct w.block, w.facts {matching})
select fact, count(*) from matching, unnest(facts) fact group by 1
"""
