"""Index passages: store their words as lexemes, in the same transaction as the progress of the index."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from backscroll.query.words import Preparation
from backscroll.store.base import PassageText
from backscroll.store.postgres.arrays import array_of, vector_of, vectors
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.search.words import SAID_ROLES, STAGES, factor_of, facts_of, is_searched_by_tool, words_of

CONTENT: Final = 9
"""Increased when the same records get other passages or words, or chats another shape: older indexes are rebuilt."""
MAX_POSITIONS: Final = 16_000
"""A tsvector has places for 16,383 words; longer texts are cut."""
APART: Final = 16
"""The places left free between texts, so that no phrase matches across both."""
MAX_REMEMBERED: Final = 500_000
MANY: Final = 200
"""The number of rows from which a thread is worth it."""
MAX_BYTES: Final = 900_000
"""A tsvector holds one megabyte."""


class WordWriter:
    """Writes the words of one build. Remembers words that the lexicon has: nearly all words of a text are in others
    too.

    Many passages are written in a thread with a connection of its own, so that the next ones are read meanwhile; there
    is one such write at a time. `settle` waits for it, and raises its error.
    """

    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection
        self._beside: PgConnection | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._preparation = Preparation()
        self._known: set[str] = set()
        self._written = 0
        self._analyzed = FIRST_ANALYZED

    def add(self, documents: Sequence[PassageText]) -> dict[str, str]:
        """Add passages, in the order of their ids; they are searchable after `settle`. Return the marks to be made."""
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
            main_text, other_text = self._preparation.prepare(text)
            factor = factor_of(spot, len(main_text) + len(other_text))
            tool = spot.tool if is_searched_by_tool(spot) else None
            for part, (places, length) in enumerate(_parts((main_text, other_text, tool or ""))):
                fresh |= places.keys() - self._known
                words += length
                vector = vector_of(places, [*facts, f"file:{spot.file}"], self._connection.build or 0)
                is_said = spot.role in SAID_ROLES
                values = (spot.block, part, spot.file, (spot.time or 0) // 1000, factor, length, is_said)
                rows.append((*values, *facts, *(None,) * (MOST_FACTS - len(facts)), vector))
            fresh |= {f"#{fact}" for fact in facts} - self._known
        made = {f"stage {stage}": str(mark) for stage, mark in enumerate(marks) if mark}
        self._known |= fresh
        if len(self._known) > MAX_REMEMBERED:
            self._known.clear()
        self.settle()
        if len(rows) < MANY:
            self._write(self._connection, rows, fresh, passages, words, made)
        else:
            if self._thread is None or self._beside is None:
                self._thread, self._beside = ThreadPoolExecutor(1), PgConnection(self._connection.address)
                self._beside.build = self._connection.build
            self._writing = self._thread.submit(self._write, self._beside, rows, fresh, passages, words, made)
        return made

    def settle(self) -> None:
        """Wait until everything that was added is searchable."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def close(self) -> None:
        """Wait for the running write, which may fail, and close the second connection."""
        if self._thread is not None and self._beside is not None:
            self._thread.shutdown()
            self._beside.close()

    def _write(
        self,
        connection: PgConnection,
        rows: list[tuple[Any, ...]],
        fresh: set[str],
        passages: dict[int, int],
        words: int,
        marks: dict[str, str],
    ) -> None:
        columns = list(zip(*rows, strict=True))
        values: list[object] = [array_of(kind, column) for kind, column in zip(KINDS, columns[:-1], strict=True)]
        values.append(vectors(columns[-1]))
        with connection.transaction():
            raw = connection.as_owner()
            raw.execute(INSERT_WORDS, values)
            if fresh:
                raw.execute(INSERT_LEXICON, (array_of("text", sorted(fresh)),))
            raw.execute(
                COUNT_FILES, (array_of("bigint", tuple(passages)), array_of("bigint", tuple(passages.values())))
            )
            raw.execute(COUNT, (sum(passages.values()), words, any(columns[1]), connection.build))
            raw.execute(INSERT_MARKS, (array_of("text", tuple(marks)), array_of("text", tuple(marks.values()))))
        self._written += sum(passages.values())
        if self._written >= self._analyzed:
            self._analyzed *= 2
            if _has_grown(connection):
                analyze(connection)


def _parts(texts: Iterable[str]) -> Iterator[tuple[dict[str, list[int]], int]]:
    """Yield the words of texts with their places; several times if there are too many of them."""
    places: dict[str, list[int]] = {}
    at = length = size = 0
    for text in texts:
        for word in words_of(text.encode("utf-8", "replace").decode()) if text else ():
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


def _has_grown(connection: PgConnection) -> bool:
    """Whether the tables have much more in them than when PostgreSQL last analyzed them.

    The tables are those of all organisations: one that joins a hundred others changes little.
    """
    with translate_errors():
        ((live, changed),) = connection.as_owner().execute(GROWTH)
    return bool(changed >= GROWN * max(0, live - changed))


def analyze(connection: PgConnection) -> None:
    """Have PostgreSQL analyze the tables, or it would read all of an organisation instead of using an index.

    It does so by itself, but a minute later.
    """
    with translate_errors():
        connection.as_owner().execute(f"analyze {', '.join(ANALYZED)}")
        connection.as_owner().execute("select gin_clean_pending_list('words_tsv')")


def quoted(word: str) -> str:
    """Return a lexeme as written in a tsquery; the functions of the database replace `HERE` by the build."""
    return f"'{HERE}" + word.replace("\\", "\\\\").replace("'", "''") + "'"


HERE: Final = "\ue000"
"""A placeholder for the build before a word of a query. No word has it: it is no letter."""


FIRST_ANALYZED: Final = 2_000
"""The number of new passages after which the tables are analyzed; then each time that there are twice as many."""
GROWN: Final = 0.5
"""The growth, relative to the size before, after which the tables are analyzed again."""
GROWTH: Final = """
select n_live_tup, n_mod_since_analyze from pg_stat_all_tables where relid = 'backscroll.words'::regclass
"""
ANALYZED: Final = ("words", "files", "chats", "records", "blocks", "calls", "counted", "spent", "links", "titles")
MOST_FACTS: Final = 5
"""The most facts of a passage: its role, its tool, and three that are true or not."""
KINDS: Final = ("bigint", "int", "bigint", "bigint", "real", "int", "boolean", *("text",) * MOST_FACTS)
INSERT_WORDS: Final = """
insert into words (block, part, file, time, weight, length, said, facts, tsv)
select w.block, w.part, w.file, w.time, w.weight, w.length, w.said,
  array_remove(array[w.a, w.b, w.c, w.d, w.e], null), w.tsv
from unnest(%s::bigint[], %s::int[], %s::bigint[], %s::bigint[], %s::real[], %s::int[], %s::boolean[], %s::text[],
  %s::text[], %s::text[], %s::text[], %s::text[], %s::tsvector[])
  as w (block, part, file, time, weight, length, said, a, b, c, d, e, tsv)
on conflict do nothing
"""
INSERT_LEXICON: Final = "insert into lexicon (word) select unnest(%s::text[]) on conflict do nothing"
COUNT_FILES: Final = """
update files f set passages = f.passages + w.passages from unnest(%s::bigint[], %s::bigint[]) as w (file, passages)
where f.id = w.file
"""
INSERT_MARKS: Final = """
insert into marks (name, value) select * from unnest(%s::text[], %s::text[])
on conflict (build, name) do update set value = excluded.value
"""
COUNT: Final = """
update builds set passages = passages + %s, words = words + %s, has_parts = has_parts or %s, changes = changes + 1
where id = %s
"""
