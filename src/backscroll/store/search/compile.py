"""Turn the tree of a query into nodes that a word engine understands. The engine parses nothing that a user typed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.query.fields import BY_NAME
from backscroll.query.little_words import LITTLE_WORDS
from backscroll.query.signs import signed_word
from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Regex, Word, leaves
from backscroll.query.words import CUT_TEXT, normal, pairs_of, split_scripts, unspaced_words
from backscroll.store.batches import microseconds
from backscroll.store.reader import Correction
from backscroll.store.search.engine import WordEngine, most_of_a_rare_word
from backscroll.store.search.forms import forms_of
from backscroll.store.search.nodes import (
    DATED,
    EachOf,
    Everything,
    HasBeginning,
    HasPart,
    HasPhrase,
    HasWord,
    InFiles,
    IsBefore,
    IsFact,
    IsFrom,
    IsOneOf,
    Node,
    Nothing,
    SomeOf,
    Weighed,
    either,
    together,
)
from backscroll.store.search.spelling import corrections
from backscroll.store.search.words import words_of
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.statements import ScopedRows, select

PLAIN: Final = re.compile(r"(?:\(\?i\))?(?:[\w\s/:.'\"=,;<>@#%&~`!+*?-]|\\[dDwWsSbB.()*+?$^/{}|\[\]-])+", re.ASCII)
RUN: Final = re.compile("[A-Za-z0-9]+")
FEW_FILES: Final = 300
"""Up to this many files are named in the engine's query."""
MAX_PREFIX_WORDS: Final = 60
"""The number of words of a prefix that are used for ranking; matches of all of them are returned."""
CORRECTED_WEIGHT: Final = 0.8
BESIDE_WEIGHT: Final = 0.2
"""The weight of a correction, relative to a typed word; and its weight if the typed word is in a passage too."""
LITTLE_WEIGHT: Final = 0.3
"""The weight of a little word, such as "what" or "did", next to words that say more. Chosen with bench/relevance."""


class QueryTerm(NamedTuple):
    """A word, phrase or group to search for."""

    query: Node
    """Matches the passages that have the term."""
    words: tuple[str, ...] = ()
    """The words of the term in order; empty for a prefix or a group."""
    is_required: bool = False
    """Whether a chat must have the term."""
    forms: tuple[str, ...] = ()
    """Other forms of the word; they count for the rank only."""
    frequency: int = 0
    """An upper bound of the number of passages that have the term."""
    is_frequent: bool = False
    """Whether the term says little about a chat: it is in very many passages, or is a little word."""


class CompiledQuery(NamedTuple):
    """A query for the engine."""

    terms: list[QueryTerm]
    """A passage must match at least one term, and its chat every required term."""
    must: list[Node]
    must_not: list[Node]
    files: set[int] | None
    """The files to search, if they are too many to name in the engine's query; None for all."""
    corrections: tuple[Correction, ...] = ()
    typed: tuple[str, ...] = ()
    """All words in the order they were typed, if there is nothing but fields between them."""

    @property
    def has_demands(self) -> bool:
        """Whether a chat with a matching passage may lack a required term."""
        return len(self.terms) > 1 and any(term.is_required for term in self.terms)

    def whole(self) -> Node:
        """Return the node of all matching passages."""
        return self.among([term.query for term in self.terms])

    def among(self, any_of: Sequence[Node]) -> Node:
        """Return the node of passages that match any of these and are not excluded by the rest of the query."""
        parts = [*self.must, *([either(list(any_of))] if any_of else [])] or [Everything()]
        return EachOf(tuple(parts), tuple(self.must_not)) if self.must_not else together(parts)


class Compiler:
    """Compile queries against one state of the store."""

    def __init__(self, rows: ScopedRows, words: WordEngine) -> None:
        self._visible = rows
        self._engine = words
        self._chats = ChatRows(rows)
        self._corrections: list[Correction] = []
        self._unknown: list[Correction] = []
        """Words that are in no passage and have no correction."""

    def compile(self, query: Query) -> CompiledQuery:
        """Compile words, phrases and groups to terms, and fields to conditions; leave out regular expressions."""
        terms: list[QueryTerm] = []
        must: list[Node] = []
        must_not = list(self._engine.hidden)
        files = self._engine.visible_files()
        accepted = [set(files)] if files is not None else []
        texts = [leaf.text for leaf in leaves(query.root) if isinstance(leaf, (Word, Phrase))]
        self._engine.prepare(word for text in texts for word in words_of(text))
        for part in _without_repeats(query.root.parts):
            if isinstance(part, Word):
                terms += self._words(part)
            elif isinstance(part, Field) and _is_about_chats(part):
                accepted.append(set(self._chats.files(part)))
            elif isinstance(part, Not) and not isinstance(part.part, Regex):
                must_not.append(self._part(part.part))
            elif isinstance(part, (Not, Regex)):
                continue
            elif any(isinstance(leaf, (Word, Phrase)) for leaf in leaves(part)):
                terms.append(self._required(part))
            else:
                must.append(self._part(part))
        wanted = set.intersection(*accepted) if accepted else None
        if wanted is not None and len(wanted) <= FEW_FILES:
            must.append(InFiles(tuple(sorted(wanted))))
            wanted = None
        if any(term.frequency for term in terms):  # otherwise nothing matches, and the user is told so
            self._corrections += self._unknown
        return CompiledQuery(_by_telling(terms), must, must_not, wanted, tuple(self._corrections), _typed(query))

    def _required(self, part: Part) -> QueryTerm:
        """Return the term of a phrase or a group, which a chat must have."""
        words = tuple(words_of(part.text)) if isinstance(part, Phrase) else ()
        frequency = min((self._engine.frequency(word) for word in words), default=self._engine.total)
        return self._weighed(QueryTerm(self._part(part), words, is_required=True, frequency=frequency))

    def _words(self, word: Word) -> list[QueryTerm]:
        """Return the terms of a word at the top of a query: several for a long run of a script without spaces."""
        pieces = split_scripts(normal(word.text))
        if word.is_required or word.prefix or not any(is_unspaced for _, is_unspaced in pieces):
            first, *more = self._corrected(word.text, self._word(word))
            first = first if more else self._weighed(first)  # the intended words include their other forms
            if first.words and not first.frequency and not any(map(self._engine.frequency, first.forms)):
                self._unknown.append(Correction(word.text, ()))
            return [first._replace(is_required=word.is_required), *more]
        parts = [part for run, is_unspaced in pieces for part in (unspaced_words(run) if is_unspaced else [run])]
        return [self._weighed(term) for term in (self._word(Word(part)) for part in parts) if term.words]

    def _corrected(self, typed: str, term: QueryTerm) -> list[QueryTerm]:
        """Return the term with its corrections if it is misspelt: in place of a word that is in no passage, and in
        addition to one that is in very few.
        """
        also = corrections(self._engine, term.words[0]) if len(term.words) == 1 else []
        if not also:
            return [term]
        self._corrections.append(Correction(typed, tuple(also)))
        frequency = sum(self._engine.frequency(word) for word in also)
        meant = either([HasWord(word) for word in also])
        if not term.frequency:
            return [QueryTerm(Weighed(meant, CORRECTED_WEIGHT), (also[0],), frequency=frequency)]
        return [term, QueryTerm(Weighed(meant, BESIDE_WEIGHT), frequency=frequency, is_frequent=True)]

    def _weighed(self, term: QueryTerm) -> QueryTerm:
        """Return the term with the other forms of its word. Those of a frequent word are not worth their time."""
        most = most_of_a_rare_word(self._engine.total)
        if term.frequency > most:
            return term._replace(is_frequent=True)
        if len(term.words) != 1:
            return term
        forms = forms_of(term.words[0])
        self._engine.prepare(forms)
        known = [form for form in forms if self._engine.most(form)]
        return term._replace(forms=tuple(form for form in known if self._is_rare(form, most)))

    def _is_rare(self, word: str, most: int) -> bool:
        """Whether a word is in no more than `most` passages."""
        return self._engine.most(word) <= most or self._engine.frequency(word) <= most

    def _part(self, part: Part) -> Node:
        if isinstance(part, Word):
            return self._word(part).query
        if isinstance(part, Phrase):
            return self._phrase(part.text)
        if isinstance(part, Field):
            return self._field(part)
        if isinstance(part, Not):
            return EachOf((Everything(),), (self._part(part.part),))
        if isinstance(part, (All, Either)):
            parts = tuple(self._part(inner) for inner in _without_repeats(part.parts))
            return EachOf(parts) if isinstance(part, All) else SomeOf(parts)
        raise TypeError(part)  # the parser allows a regular expression at the top only

    def _word(self, word: Word) -> QueryTerm:
        text = normal(word.text)
        pieces = split_scripts(text)
        if not any(is_unspaced for _, is_unspaced in pieces):
            return self._spaced(text, prefix=word.prefix)
        terms = [
            self._unspaced(piece) if is_unspaced else self._spaced(piece, prefix=word.prefix)
            for piece, is_unspaced in pieces
        ]
        if len(terms) == 1:
            return terms[0]
        return QueryTerm(together([term.query for term in terms]), frequency=min(term.frequency for term in terms))

    def _spaced(self, text: str, *, prefix: bool = False) -> QueryTerm:
        signed = None if prefix else signed_word(text)
        if signed is not None and (name := words_of(signed)) and self._engine.frequency(name[0]):
            return self._in_order(name)
        words = words_of(text)
        if not words:
            return QueryTerm(Nothing())
        if signed is not None:
            self._corrections.append(Correction(text, tuple(words)))
        if prefix:
            return self._prefix(words)
        return self._in_order(words)

    def _in_order(self, words: list[str]) -> QueryTerm:
        frequency = min(self._engine.frequency(word) for word in words)
        query: Node = HasWord(words[0]) if len(words) == 1 else HasPhrase(tuple(words))
        return QueryTerm(query, tuple(words), frequency=frequency)

    def _prefix(self, words: list[str]) -> QueryTerm:
        if len(words) > 1:
            frequency = min(self._engine.frequency(word) for word in words[:-1])
            return QueryTerm(HasBeginning(tuple(words)), frequency=frequency)
        prefix = words[0]
        endings = self._engine.endings(prefix, MAX_PREFIX_WORDS)
        frequency = sum(count for _, count in endings)
        if not endings:
            return QueryTerm(Nothing())
        if len(endings) < MAX_PREFIX_WORDS:
            return QueryTerm(either([HasWord(word) for word, _ in endings]), frequency=frequency)
        beginning = HasBeginning((prefix,))
        return QueryTerm(beginning, frequency=sum(self._engine.count_by_chat(beginning).values()))

    def _unspaced(self, run: str) -> QueryTerm:
        """Return the term of a run written without spaces: its pairs of characters, one after the other."""
        pairs = [word for pair in pairs_of(run) for word in words_of(pair)]
        return self._in_order(pairs) if pairs else QueryTerm(Nothing())

    def _phrase(self, text: str) -> Node:
        text = normal(text)
        pieces = [piece for piece in split_scripts(text) if piece[0].strip()]
        if any(is_unspaced for _, is_unspaced in pieces):
            return together([
                self._unspaced(piece).query if is_unspaced else self._spaced(piece).query
                for piece, is_unspaced in pieces
            ])  # fmt: skip
        return self._spaced(text).query

    def _field(self, field: Field) -> Node:
        value = field.value
        if field.name in ("after", "before") and isinstance(value, datetime):
            moment = (microseconds(value) or 0) // 1000
            return IsFrom(moment) if field.name == "after" else together([DATED, IsBefore(moment)])
        text = str(value)
        if field.name == "role":
            return IsFact(f"role:{text}")
        if field.name == "tool":
            wanted = text.lower()
            if field.comparison == "==":
                return IsFact(f"tool:{wanted}")
            return SomeOf(tuple(IsFact(f"tool:{name}") for name in self._engine.tools() if wanted in name))
        if field.name == "is" and text in ("error", "agent"):
            return IsFact(text)
        if field.name == "has" and text == "image":
            return IsFact(text)
        if field.name == "is" and text == "abandoned":
            return self._abandoned()
        return InFiles(tuple(self._chats.files(field)))

    def _abandoned(self) -> Node:
        blocks = [number for (number,) in select(self._visible, ABANDONED)]
        return IsOneOf(tuple(blocks))


def _without_repeats(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield each part once, except plain words: repeated, they count more. `h*` three thousand times takes 300 MB."""
    seen: set[Part] = set()
    for part in parts:
        if (isinstance(part, Word) and not part.prefix) or part not in seen:
            yield part
        seen.add(part)


def _by_telling(terms: list[QueryTerm]) -> list[QueryTerm]:
    """Return the terms with less weight for little words. Where tools wrote most text, "did" is as rare as a tool."""
    is_little = [len(term.words) == 1 and term.words[0] in LITTLE_WORDS for term in terms]
    if all(is_little):
        return terms
    return [
        term._replace(query=Weighed(term.query, LITTLE_WEIGHT), forms=(), is_frequent=True) if little else term
        for term, little in zip(terms, is_little, strict=True)
    ]


ABANDONED: Final = """
select b.id from records r indexed by records_abandoned join blocks b on b.record = r.id where r.abandoned
"""


def _typed(query: Query) -> tuple[str, ...]:
    parts = [part for part in query.root.parts if not isinstance(part, Field)]
    words = [part for part in parts if isinstance(part, Word) and not part.prefix]
    return tuple(word for part in words for word in words_of(part.text)) if len(words) == len(parts) else ()


def _is_about_chats(field: Field) -> bool:
    return BY_NAME[field.name].about_of(str(field.value)) == "chat"


def literals(query: Query) -> list[Node]:
    """Return literals that a text must contain for the regular expressions of a query to match, to skip other texts.

    They are looked up as words. Not all of a text may have words; see `Preparation`.
    """
    nodes: list[Node] = []
    for part in query.root.parts:
        if isinstance(part, Regex):
            nodes += [SomeOf((HasPart(word), HasWord(CUT_TEXT))) for word in required_words(part.pattern)]
    return nodes


def required_words(pattern: str) -> list[str]:
    """Return runs of letters and digits that every match of a pattern contains; none if in doubt."""
    if not PLAIN.fullmatch(pattern):
        return []  # alternatives, groups, classes: the required text is not plain to see
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
