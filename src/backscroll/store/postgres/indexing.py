"""Make passages findable: their words as lexemes, in the same transaction as the note of how far we are."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from backscroll.query.words import Preparation
from backscroll.store.base import PassageText
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.search.words import STAGES, facts_of, is_searched_by_tool, weight_of, words_of

MAX_POSITIONS: Final = 16_000
"""A tsvector has places for 16,383 words; what is longer is cut."""
APART: Final = 16
"""How many places are left free between texts, so that no phrase matches across both."""
MAX_REMEMBERED: Final = 500_000
MAX_BYTES: Final = 900_000
"""A tsvector holds one megabyte."""


class WordWriter:
    """Writes the words of one build. Remembers words that the lexicon has: nearly all of a text are in others too."""

    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection
        self._preparation = Preparation()
        self._known: set[str] = set()
        self._written = 0
        self._analyzed = FIRST_ANALYZED

    def add(self, documents: Sequence[PassageText]) -> None:
        """Add passages, in the order of their ids; they can be found when this returns."""
        rows: list[tuple[Any, ...]] = []
        fresh: set[str] = set()
        passages: dict[int, int] = {}
        words = 0
        marks = [0] * len(STAGES)
        for spot, text in documents:
            stage = 0 if spot.role in STAGES[0] else 1
            marks[stage] = max(marks[stage], spot.block)
            facts = list(facts_of(spot))
            passages[spot.file] = passages.get(spot.file, 0) + 1
            weight = weight_of(spot.role, is_agent=spot.is_agent)
            for part, (places, length) in enumerate(
                self._parts(text, spot.tool if is_searched_by_tool(spot) else None)
            ):
                fresh |= places.keys() - self._known
                words += length
                vector = vector_of(places, facts)
                rows.append((spot.block, part, spot.file, (spot.time or 0) // 1000, weight, length, facts, vector))
            fresh |= {f"#{fact}" for fact in facts} - self._known
        self._write(rows, fresh, passages, words, marks)

    def _parts(self, text: str, tool: str | None) -> Iterator[tuple[dict[str, list[int]], int]]:
        """The words of a text with their places; several times if there are too many of them."""
        said, also = self._preparation.prepare(text)
        places: dict[str, list[int]] = {}
        at = length = size = 0
        for piece in (said, also, tool or ""):
            for word in words_of(piece.encode("utf-8", "replace").decode()) if piece else ():
                if at >= MAX_POSITIONS or size > MAX_BYTES:
                    yield places, length
                    places, at, length, size = {}, 0, 0, 0
                at += 1
                length += 1
                known = places.get(word)
                if known is None:
                    places[word] = [at]
                    size += 3 * len(word) + 8
                else:
                    known.append(at)
                    size += 2
            at += APART
        yield places, length

    def _write(
        self, rows: list[tuple[Any, ...]], fresh: set[str], passages: dict[int, int], words: int, marks: list[int]
    ) -> None:
        build = self._connection.build
        with self._connection.transaction():
            connection = self._connection.as_owner()
            with translate_errors():
                cursor = connection.cursor()
                cursor.executemany(INSERT_WORDS, rows)
                if fresh:
                    cursor.execute(INSERT_LEXICON, (sorted(fresh),))
                cursor.executemany(
                    "update files set passages = passages + %s where id = %s",
                    [(count, file) for file, count in passages.items()],
                )
                has_parts = any(row[1] for row in rows)
                cursor.execute(COUNT, (sum(passages.values()), words, has_parts, build))
                for stage, mark in enumerate(marks):
                    if mark:
                        cursor.execute(INSERT_MARK, (f"stage {stage}", str(mark)))
        self._written += sum(passages.values())
        if self._written >= self._analyzed:
            self._analyzed *= 2
            if _has_grown(self._connection):
                analyze(self._connection)
        self._known |= fresh
        if len(self._known) > MAX_REMEMBERED:
            self._known.clear()


def _has_grown(connection: PgConnection) -> bool:
    """Whether the tables have much more in them than when PostgreSQL last counted.

    They are those of all organisations: one that joins a hundred others changes little.
    """
    with translate_errors():
        ((live, changed),) = connection.as_owner().execute(GROWTH)
    return bool(changed >= GROWN * max(0, live - changed))


def analyze(connection: PgConnection) -> None:
    """Have PostgreSQL count what the tables hold, or it would read all of an organisation instead of using an index.

    It does so by itself, but a minute later.
    """
    with translate_errors():
        connection.as_owner().execute(f"analyze {', '.join(ANALYZED)}")
        connection.as_owner().execute("select gin_clean_pending_list('words_tsv')")


def vector_of(places: dict[str, list[int]], facts: list[str]) -> str:
    """Words with their places, and facts, as PostgreSQL reads a tsvector."""
    words = [f"{quoted(word)}:{','.join(map(str, numbers[:256]))}" for word, numbers in places.items()]
    return " ".join([*words, *(quoted(f"#{fact}") for fact in facts)])


def quoted(word: str) -> str:
    """A lexeme as a tsvector and a tsquery write it."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


FIRST_ANALYZED: Final = 2_000
"""After so many new passages the tables are analyzed, and then each time that there are twice as many."""
GROWN: Final = 0.5
"""How much there is to be more, relative to what there was, for the tables to be analyzed again."""
GROWTH: Final = """
select n_live_tup, n_mod_since_analyze from pg_stat_all_tables where relid = 'backscroll.words'::regclass
"""
ANALYZED: Final = ("words", "files", "chats", "records", "blocks", "calls", "counted", "spent", "links", "titles")
INSERT_WORDS: Final = """
insert into words (block, part, file, time, weight, length, facts, tsv)
values (%s, %s, %s, %s, %s, %s, %s::text[], %s::tsvector) on conflict do nothing
"""
INSERT_LEXICON: Final = "insert into lexicon (word) select unnest(%s::text[]) on conflict do nothing"
INSERT_MARK: Final = """
insert into marks (name, value) values (%s, %s) on conflict (build, name) do update set value = excluded.value
"""
COUNT: Final = """
update builds set passages = passages + %s, words = words + %s, has_parts = has_parts or %s, changes = changes + 1
where id = %s
"""
