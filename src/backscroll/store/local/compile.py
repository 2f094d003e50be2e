"""Turn the tree of a query into what the text index understands. Nothing that a user typed is parsed by the engine."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

import apsw
import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.query import All, Either, Field, Not, Part, Phrase, Query, Regex, Word, normal, pairs_of, split_scripts
from backscroll.store.base import Passing, microseconds
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.database import select
from backscroll.store.local.text import PARTS, SCHEMA, any_fact, fact, in_files, words_of

PLAIN: Final = re.compile(r"(?:\(\?i\))?(?:[\w\s/:.'\"=,;<>@#%&~`!+*?-]|\\[dDwWsSbB.()*+?$^/{}|\[\]-])+", re.ASCII)
RUN: Final = re.compile("[A-Za-z0-9]+")
PARTS_WEIGHT: Final = 0.7
"""What a match of a part of a name counts, beside one of the whole word."""
MOST_ENDINGS: Final = 60
"""How many words a prefix stands for when it comes to rank; all of them count as found."""


class Compiled(NamedTuple):
    """What to ask the engine."""

    words: list[Engine]
    """Any of these must be there, and the more the better."""
    must: list[Engine]
    must_not: list[Engine]
    regexes: list[tuple[Regex, bool]]
    """What is looked for in the texts themselves; with whether it must not be there."""

    def whole(self, words: Iterable[Engine] | None = None) -> Engine:
        """All of it as one question, with these words only if they are given."""
        chosen = self.words if words is None else list(words)
        clauses = [(Occur.Must, part) for part in self.must] + [(Occur.MustNot, part) for part in self.must_not]
        if chosen:
            either = chosen[0] if len(chosen) == 1 else Engine.boolean_query([(Occur.Should, word) for word in chosen])
            clauses.append((Occur.Must, either))
        elif not self.must:
            clauses.append((Occur.Must, Engine.all_query()))
        return clauses[0][1] if len(clauses) == 1 else Engine.boolean_query(clauses)


class Compiler:
    """Compiles the queries of one moment."""

    def __init__(self, connection: apsw.Connection, searcher: tantivy.Searcher, passing: Passing) -> None:
        self._connection = connection
        self._searcher = searcher
        self._chats = ChatRows(connection, passing)

    def compile(self, query: Query) -> Compiled:
        """Words at the top are wishes; everything else at the top is a demand."""
        compiled = Compiled([], [], [], [])
        files = self._chats.files_in_homes()
        if files is not None:
            compiled.must.append(in_files(files))
        for part in query.root.parts:
            if isinstance(part, Word):
                compiled.words.append(self._word(part))
            elif isinstance(part, Regex):
                compiled.regexes.append((part, False))
            elif isinstance(part, Not) and isinstance(part.part, Regex):
                compiled.regexes.append((part.part, True))
            elif isinstance(part, Not):
                compiled.must_not.append(self._part(part.part))
            else:
                compiled.must.append(self._part(part))
        return compiled

    def _part(self, part: Part) -> Engine:
        if isinstance(part, Word):
            return self._word(part)
        if isinstance(part, Phrase):
            return self._phrase(part.text)
        if isinstance(part, Field):
            return self._field(part)
        if isinstance(part, Not):
            return Engine.boolean_query([(Occur.Must, Engine.all_query()), (Occur.MustNot, self._part(part.part))])
        if isinstance(part, (All, Either)):
            occur = Occur.Must if isinstance(part, All) else Occur.Should
            return Engine.boolean_query([(occur, self._part(inner)) for inner in part.parts])
        raise TypeError(part)  # the parser lets a regular expression stand at the top only

    def _word(self, word: Word) -> Engine:
        text = normal(word.text)
        pieces = split_scripts(text)
        if any(is_unspaced for _, is_unspaced in pieces):
            return _all(
                [_unspaced(piece) if is_unspaced else self._spaced(piece, word.prefix) for piece, is_unspaced in pieces]
            )
        return self._spaced(text, word.prefix)

    def _spaced(self, text: str, prefix: bool = False) -> Engine:
        words = words_of(text)
        if not words:
            return Engine.empty_query()
        if prefix:
            return self._prefix(words)
        if len(words) > 1:
            return Engine.phrase_query(SCHEMA, "text", list(words))
        return _either([_term("text", words[0]), Engine.boost_query(_term("parts", words[0]), PARTS_WEIGHT)])

    def _prefix(self, words: list[str]) -> Engine:
        if len(words) > 1:
            return Engine.phrase_prefix_query(SCHEMA, "text", list(words))
        prefix = words[0]
        clauses = []
        for field, weight in (("text", 1.0), ("parts", PARTS_WEIGHT)):
            endings = self._searcher.terms_with_prefix(field, prefix, limit=MOST_ENDINGS)
            clauses += [Engine.boost_query(_term(field, word), weight) for word, _ in endings]
            if len(endings) >= MOST_ENDINGS:
                everything = Engine.fuzzy_term_query(SCHEMA, field, prefix, distance=0, prefix=True)
                clauses.append(Engine.boost_query(everything, 0.1))
        return _either(clauses) if clauses else Engine.empty_query()

    def _phrase(self, text: str) -> Engine:
        text = normal(text)
        pieces = split_scripts(text)
        if any(is_unspaced for _, is_unspaced in pieces):
            parts = [
                _unspaced(piece) if is_unspaced else self._phrase(piece)
                for piece, is_unspaced in pieces
                if piece.strip()
            ]
            return _all(parts)
        words = words_of(text)
        if not words:
            return Engine.empty_query()
        if len(words) == 1:
            return self._spaced(text)
        return Engine.phrase_query(SCHEMA, "text", list(words))

    def _field(self, field: Field) -> Engine:
        value = field.value
        if field.name in ("after", "before") and isinstance(value, datetime):
            moment = (microseconds(value) or 0) // 1000
            after = field.name == "after"
            bounds: dict[str, Any] = {"lower_bound": moment} if after else {"upper_bound": moment}
            found = Engine.range_query(SCHEMA, "time", FieldType.Integer, include_upper=False, **bounds)
            return Engine.const_score_query(found, 0.0)
        text = str(value)
        if field.name == "role":
            return fact(f"role:{text}")
        if field.name == "tool":
            names = (name for name, _ in self._searcher.terms_with_prefix("facts", "tool:"))
            return any_fact([name for name in names if text.lower() in name.removeprefix("tool:")])
        if field.name == "is" and text in ("error", "agent"):
            return fact(text)
        if field.name == "is" and text == "abandoned":
            return self._abandoned()
        return in_files(self._chats.files(field) or [])

    def _abandoned(self) -> Engine:
        blocks = [number for (number,) in select(self._connection, ABANDONED)]
        if not blocks:
            return Engine.empty_query()
        return Engine.const_score_query(Engine.term_set_query(SCHEMA, "block", blocks), 0.0)


ABANDONED: Final = """
select b.id from records r indexed by records_abandoned join blocks b on b.record = r.id where r.abandoned
"""


def literals(query: Query) -> list[Engine]:
    """What must be in a text for the regular expressions of a query to match: saves looking through the others."""
    found = []
    for part in query.root.parts:
        if isinstance(part, Regex):
            found += [Engine.regex_query(SCHEMA, "text", f".*{word}.*") for word in required_words(part.pattern)]
    return [Engine.const_score_query(part, 0.0) for part in found]


def required_words(pattern: str) -> list[str]:
    """Runs of plain letters and digits that stand in everything that a pattern matches; none rather than a wrong."""
    if not PLAIN.fullmatch(pattern):
        return []  # alternatives, groups, classes: what must be there is not plain to see
    words = []
    for run in RUN.finditer(pattern):
        word = run[0]
        if pattern[run.end() : run.end() + 1] in ("*", "?", "+", "{"):
            word = word[:-1]
        if run.start() > 0 and pattern[run.start() - 1] == "\\":
            word = word[1:]
        if len(word) >= 3:
            words.append(word.lower())
    return words


def _term(field: str, word: str) -> Engine:
    return Engine.term_query(SCHEMA, field, word)


def _unspaced(run: str) -> Engine:
    """A run of characters written without spaces: its pairs, one after the other."""
    pairs = [word for pair in pairs_of(run) for word in PARTS.analyze(pair)]
    if len(pairs) == 1:
        return _term("parts", pairs[0])
    return Engine.phrase_query(SCHEMA, "parts", list(pairs))


def _all(parts: list[Engine]) -> Engine:
    return parts[0] if len(parts) == 1 else Engine.boolean_query([(Occur.Must, part) for part in parts])


def _either(parts: list[Engine]) -> Engine:
    return parts[0] if len(parts) == 1 else Engine.boolean_query([(Occur.Should, part) for part in parts])
