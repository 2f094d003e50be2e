"""Turn the tree of a query into what the text index understands. Nothing that a user typed is parsed by the engine."""

import re
from datetime import datetime
from typing import Any, Final, NamedTuple

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Engine

from backscroll.query.fields import BY_NAME
from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Regex, Word, leaves
from backscroll.query.words import normal, pairs_of, split_scripts
from backscroll.store.batches import microseconds
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.database import select
from backscroll.store.local.text import SCHEMA, any_fact, fact, in_files, words_of
from backscroll.store.local.visible import VisibleRows

PLAIN: Final = re.compile(r"(?:\(\?i\))?(?:[\w\s/:.'\"=,;<>@#%&~`!+*?-]|\\[dDwWsSbB.()*+?$^/{}|\[\]-])+", re.ASCII)
RUN: Final = re.compile("[A-Za-z0-9]+")
FEW_FILES: Final = 300
"""How many files the engine is asked about one by one."""
MOST_ENDINGS: Final = 60
"""How many words a prefix stands for when it comes to rank; all of them count as found."""


class QueryWord(NamedTuple):
    """A word that is looked for: how to ask for it, and in how many passages it is at most."""

    query: Engine
    frequency: int


class CompiledQuery(NamedTuple):
    """What to ask the engine."""

    words: list[QueryWord]
    """Any of these must be there, and the more the better."""
    must: list[Engine]
    must_not: list[Engine]
    files: set[int] | None
    """The files that are asked about, where they are so many that the engine is better not asked; None for all."""
    is_ranked: bool
    """Whether there are words in it anywhere, so that one passage can be better than another."""

    def whole(self) -> Engine:
        """All of it as one question."""
        clauses = [(Occur.Must, part) for part in self.must] + [(Occur.MustNot, part) for part in self.must_not]
        if self.words:
            clauses.append((Occur.Must, _either([word.query for word in self.words])))
        elif not self.must:
            clauses.append((Occur.Must, Engine.all_query()))
        return clauses[0][1] if len(clauses) == 1 else Engine.boolean_query(clauses)


class Compiler:
    """Compiles the queries of one moment."""

    def __init__(self, rows: VisibleRows, searcher: tantivy.Searcher) -> None:
        self._visible = rows
        self._searcher = searcher
        self._chats = ChatRows(rows)

    def compile(self, query: Query) -> CompiledQuery:
        """Words at the top are wishes; everything else at the top is a demand. Regular expressions are not seen to."""
        is_ranked = any(isinstance(part, (Word, Phrase)) for part in leaves(query.root))
        words: list[QueryWord] = []
        must: list[Engine] = []
        must_not: list[Engine] = []
        accepted = [set(files)] if (files := self._chats.visible_files()) is not None else []
        for part in query.root.parts:
            if isinstance(part, Word):
                words.append(self._word(part))
            elif isinstance(part, Field) and _is_about_chats(part):
                accepted.append(set(self._chats.files(part)))
            elif isinstance(part, Not) and not isinstance(part.part, Regex):
                must_not.append(self._part(part.part))
            elif not isinstance(part, (Not, Regex)):
                must.append(self._part(part))
        together = set.intersection(*accepted) if accepted else None
        if together is not None and len(together) <= FEW_FILES:
            must.append(in_files(sorted(together)))
            together = None
        return CompiledQuery(words, must, must_not, together, is_ranked)

    def _part(self, part: Part) -> Engine:
        if isinstance(part, Word):
            return self._word(part).query
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

    def _word(self, word: Word) -> QueryWord:
        text = normal(word.text)
        pieces = split_scripts(text)
        if not any(is_unspaced for _, is_unspaced in pieces):
            return self._spaced(text, prefix=word.prefix)
        wishes = [
            self._unspaced(piece) if is_unspaced else self._spaced(piece, prefix=word.prefix)
            for piece, is_unspaced in pieces
        ]
        return QueryWord(_all([wish.query for wish in wishes]), min(wish.frequency for wish in wishes))

    def _spaced(self, text: str, *, prefix: bool = False) -> QueryWord:
        words = words_of(text)
        if not words:
            return QueryWord(Engine.empty_query(), 0)
        if prefix:
            return self._prefix(words)
        if len(words) > 1:
            frequency = min(self._searcher.doc_freq("text", word) for word in words)
            return QueryWord(Engine.phrase_query(SCHEMA, "text", list(words)), frequency)
        word = words[0]
        return QueryWord(_term(word), self._searcher.doc_freq("text", word))

    def _prefix(self, words: list[str]) -> QueryWord:
        if len(words) > 1:
            frequency = min(self._searcher.doc_freq("text", word) for word in words[:-1])
            return QueryWord(Engine.phrase_prefix_query(SCHEMA, "text", list(words)), frequency)
        prefix = words[0]
        endings = self._searcher.terms_with_prefix("text", prefix, limit=MOST_ENDINGS)
        frequency = sum(count for _, count in endings)
        if not endings:
            return QueryWord(Engine.empty_query(), 0)
        if len(endings) < MOST_ENDINGS:
            return QueryWord(_either([_term(word) for word, _ in endings]), frequency)
        everything = Engine.fuzzy_term_query(SCHEMA, "text", prefix, distance=0, prefix=True)
        return QueryWord(Engine.const_score_query(everything, 1.0), frequency)

    def _unspaced(self, run: str) -> QueryWord:
        """A run of characters written without spaces: its pairs, one after the other."""
        pairs = [word for pair in pairs_of(run) for word in words_of(pair)]
        frequency = min((self._searcher.doc_freq("text", pair) for pair in pairs), default=0)
        if len(pairs) < 2:
            return QueryWord(_all([_term(pair) for pair in pairs]) if pairs else Engine.empty_query(), frequency)
        return QueryWord(Engine.phrase_query(SCHEMA, "text", list(pairs)), frequency)

    def _phrase(self, text: str) -> Engine:
        text = normal(text)
        pieces = [piece for piece in split_scripts(text) if piece[0].strip()]
        if any(is_unspaced for _, is_unspaced in pieces):
            return _all([
                self._unspaced(piece).query if is_unspaced else self._spaced(piece).query
                for piece, is_unspaced in pieces
            ])  # fmt: skip
        return self._spaced(text).query

    def _field(self, field: Field) -> Engine:
        value = field.value
        if field.name in ("after", "before") and isinstance(value, datetime):
            moment = (microseconds(value) or 0) // 1000
            after = field.name == "after"
            bounds: dict[str, Any] = (
                {"lower_bound": moment} if after else {"upper_bound": moment, "include_upper": False}
            )
            found = Engine.range_query(SCHEMA, "time", FieldType.Integer, **bounds)
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
        return in_files(self._chats.files(field))

    def _abandoned(self) -> Engine:
        blocks = [number for (number,) in select(self._visible, ABANDONED)]
        if not blocks:
            return Engine.empty_query()
        return Engine.const_score_query(Engine.term_set_query(SCHEMA, "block", blocks), 0.0)


ABANDONED: Final = """
select b.id from records r indexed by records_abandoned join blocks b on b.record = r.id where r.abandoned
"""


def _is_about_chats(field: Field) -> bool:
    return BY_NAME[field.name].about_of(str(field.value)) == "chat"


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


def _term(word: str) -> Engine:
    return Engine.term_query(SCHEMA, "text", word)


def _all(parts: list[Engine]) -> Engine:
    return parts[0] if len(parts) == 1 else Engine.boolean_query([(Occur.Must, part) for part in parts])


def _either(parts: list[Engine]) -> Engine:
    return parts[0] if len(parts) == 1 else Engine.boolean_query([(Occur.Should, part) for part in parts])
