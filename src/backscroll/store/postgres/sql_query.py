"""A query as SQL: a tsquery that finds the passages, conditions on them, and their worths."""

from collections.abc import Collection
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

from backscroll.store.postgres.indexing import HERE, quoted
from backscroll.store.search import nodes

NOWHERE: Final = quoted("#nowhere")
"""A lexeme that no passage has."""
SHIFT: Final = 40
"""The bits by which the number of a build is shifted in front of an id; the database's `shared_id` has it too."""
MAX_NAMED_WORDS: Final = 200
"""The most words with some letters that are looked up one by one."""


class KnownWords(Protocol):
    """The vocabulary of an index, and the builds of its passages."""

    @property
    def sees_everything(self) -> bool:
        """Whether nothing is hidden from the reader."""
        ...

    @property
    def build(self) -> int | None:
        """The build of all passages; None if they are of several, which their ids name."""
        ...

    def words_with(self, letters: str) -> list[str]:
        """Return the words that contain these letters."""
        ...


class _Leaf(NamedTuple):
    """A part that counts for the rank, and its worth."""

    lexemes: str
    worth: float


class SqlQuery:
    """A query as SQL."""

    def __init__(self, words: KnownWords, query: nodes.Node, files: Collection[int] | None) -> None:
        self._words = words
        self._query = query
        self._numbers = count()
        self.values: dict[str, Any] = {}
        self.factors: dict[str, Any] = {}
        exact = self._lexemes(query)
        needed = self._needed(query) if exact is None else exact
        condition = self._condition(query) if exact is None else "true"
        self._exact = exact
        tsquery = None if needed is None else f"cast({self._named(needed)} as text)"
        source = f"found({tsquery or ''})"
        if (few := _few_passages(query)) is not None:
            source = f"found({self._named(list(few))}::bigint[])"
        # PostgreSQL finds only what the reader may see; the list of visible files is the second wall.
        scope = "" if words.sees_everything else " and w.file in (select id from files)"
        if files is not None:
            scope += f" and w.file = any({self._named(sorted(files))}::bigint[])"
        self.matching = f"from {source} w where {condition}{scope}"
        self.without_words = self.matching
        """As `matching`, where the words of matches are not read."""
        if condition == "true" and tsquery and few is None:
            self.without_words = f"from found({tsquery}, false) w where true{scope}"
        self.lexemes = exact if files is None else None
        """The lexemes of a match, if they alone decide whether a passage matches."""

    def ranked(self) -> dict[str, Any] | None:
        """Return the parameters of `best_passages`; None if more than words decides which passages match, or if few
        files do: it would score the matches of all others, too.
        """
        if self.lexemes is None or _names_files(self._query):
            return None
        leaves = self._leaves(self._query)
        needed = next((n for n in range(len(leaves), 0, -1) if _any_of(leaves[:n]) == self.lexemes), 0)
        if not needed:
            leaves, needed = [_Leaf(self.lexemes, 0.0), *leaves], 1
        return {
            "queries": [leaf.lexemes for leaf in leaves],
            "worths": [leaf.worth for leaf in leaves],
            "needed": needed,
        }

    def score(self) -> str:
        """Return the sum of worths that a passage has, in SQL."""
        worths = ["0.0"]
        for leaf in self._leaves(self._query):
            worth = f"factor{next(self._numbers)}"
            self.factors[worth] = leaf.worth
            has = self._tsquery(leaf.lexemes)
            worths.append(f"case when bool_or(w.tsv @@ {has}) then cast(:{worth} as float8) else 0 end")
        return " + ".join(worths)

    def _tsquery(self, lexemes: str) -> str:
        """Return a tsquery for the words of a passage, of its build."""
        if self._words.build is None:
            return f"of_build({self._named(lexemes)}, (block >> {SHIFT})::int)"
        return f"cast({self._named(lexemes.replace(HERE, f'{self._words.build}='))} as tsquery)"

    def _named(self, value: Any) -> str:  # noqa: ANN401
        name = f"value{next(self._numbers)}"
        self.values[name] = value
        return f":{name}"

    def _leaves(self, node: nodes.Node) -> list[_Leaf]:
        """Return the parts that have a worth."""
        match node:
            case nodes.Worth(part, score):
                lexemes = self._lexemes(part)
                return [_Leaf(lexemes, score)] if lexemes else []
            case nodes.SomeOf(parts):
                return [leaf for part in parts for leaf in self._leaves(part)]
            case nodes.EachOf(parts, _, also):
                return [leaf for part in (*parts, *also) for leaf in self._leaves(part)]
            case _:
                return []

    def _lexemes(self, node: nodes.Node) -> str | None:
        """Return the lexemes that a passage must have, as a tsquery; None if words alone do not decide."""
        match node:
            case nodes.HasWord(word):
                return quoted(word)
            case nodes.HasPhrase(words, gap):
                return phrase(words, gap)
            case nodes.HasBeginning(words):
                return beginning(words)
            case nodes.IsFact(name):
                return quoted(f"#{name}")
            case nodes.InFiles(files) if 0 < len(files) <= MAX_NAMED_WORDS:
                return " | ".join(map(self._in_file, files))
            case nodes.HasPart(letters):
                words_with_part = self._words.words_with(letters)
                return " | ".join(map(quoted, words_with_part)) if 0 < len(words_with_part) <= MAX_NAMED_WORDS else None
            case nodes.Weighed(part, _) | nodes.Worth(part, _):
                return self._lexemes(part)
            case nodes.Nothing() | nodes.SomeOf(()) | nodes.InFiles(()) | nodes.IsOneOf(()):
                return NOWHERE
            case nodes.SomeOf(parts):
                each = [self._lexemes(part) for part in parts]
                return None if None in each else " | ".join(f"({query})" for query in each)
            case nodes.EachOf((only,), (), _):
                return self._lexemes(only)
            case nodes.EachOf(parts, but_not, _) if parts:
                each = [self._lexemes(part) for part in parts]
                never = [self._lexemes(part) for part in but_not]
                if None in each or None in never:
                    return None
                return " & ".join([*(f"({query})" for query in each), *(f"!({query})" for query in never)])
            case _:
                return None

    def _in_file(self, file: int) -> str:
        """Return a tsquery for the passages of a file: the file is a lexeme of each."""
        if self._words.build is not None:
            return quoted(f"#file:{file}")
        return f"'{file >> SHIFT}=#file:{file & ((1 << SHIFT) - 1)}'"

    def _needed(self, node: nodes.Node) -> str | None:
        """Return a tsquery that every match fulfils; None if there is none."""
        match node:
            case nodes.EachOf(parts, _, _):
                some = [query for part in parts if (query := self._needed(part)) is not None]
                return " & ".join(f"({part_query})" for part_query in some) if some else None
            case nodes.SomeOf(parts) if parts:
                each = [self._needed(part) for part in parts]
                return None if None in each else " | ".join(f"({part_query})" for part_query in each)
            case nodes.Weighed(part, _) | nodes.Worth(part, _):
                return self._needed(part)
            case _:
                return self._lexemes(node)

    def _condition(self, node: nodes.Node) -> str:
        match node:
            case nodes.Everything():
                return "true"
            case nodes.Nothing():
                return "false"
            case nodes.InFiles(files):
                return f"w.file = any({self._named(list(files))}::bigint[])"
            case nodes.IsOneOf(blocks):
                return f"w.block = any({self._named(list(blocks))}::bigint[])"
            case nodes.IsUpTo(block):
                return f"w.block <= {self._named(block)}"
            case nodes.IsFrom(time):
                return f"w.time >= {self._named(time)}"
            case nodes.IsBefore(time):
                return f"w.time < {self._named(time)}"
            case nodes.Weighed(part, _) | nodes.Worth(part, _):
                return self._condition(part)
            case nodes.SomeOf(parts):
                return f"({' or '.join(map(self._condition, parts))})" if parts else "false"
            case nodes.EachOf(parts, but_not, _):
                never = [f"not {self._condition(part)}" for part in but_not]
                return f"({' and '.join([*map(self._condition, parts), *never])})"
            case nodes.HasPart(letters):
                return self._has_part(letters)
            case _:
                return f"w.tsv @@ {self._tsquery(self._lexemes(node) or NOWHERE)}"

    def _has_part(self, letters: str) -> str:
        words = self._words.words_with(letters)
        if self._words.build is None:
            here = f"(select (block >> {SHIFT})::int || '=' || word from unnest({self._named(words)}::text[]) word)"  # noqa: S608
            return f"tsvector_to_array(w.tsv) && array{here}"
        return f"tsvector_to_array(w.tsv) && {self._named([f'{self._words.build}={word}' for word in words])}::text[]"


def _few_passages(node: nodes.Node) -> tuple[int, ...] | None:
    """Return the passages to which matches are limited, if they are named and few."""
    if isinstance(node, nodes.IsOneOf):
        return node.blocks if len(node.blocks) <= MAX_NAMED_WORDS else None
    parts = node.parts if isinstance(node, nodes.EachOf) else ()
    return next((passages for part in parts if (passages := _few_passages(part)) is not None), None)


def _names_files(node: nodes.Node) -> bool:
    return isinstance(node, nodes.EachOf) and any(isinstance(part, nodes.InFiles) for part in node.parts)


def _any_of(leaves: list[_Leaf]) -> str:
    """Return a tsquery for passages that have any of these, as `_lexemes` writes it."""
    return leaves[0].lexemes if len(leaves) == 1 else " | ".join(f"({leaf.lexemes})" for leaf in leaves)


def phrase(words: tuple[str, ...], gap: int = 0) -> str:
    """Return words in order as a tsquery; two words also in reverse order, which counts as two more between them."""
    if not gap:
        return " <-> ".join(map(quoted, words))
    word, other = map(quoted, words)
    return " | ".join(
        f"({first} <{far}> {second})"
        for first, second, most in ((word, other, gap + 1), (other, word, gap - 1))
        for far in range(1, most + 1)
    )


def beginning(words: tuple[str, ...]) -> str:
    """Return words in order as a tsquery; of the last one, only the beginning."""
    return " <-> ".join([*map(quoted, words[:-1]), f"{quoted(words[-1])}:*"])
