"""What is looked for, as SQL: a tsquery that finds the passages, conditions on them, and what they are worth."""

from collections.abc import Collection
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

from backscroll.store.postgres.indexing import HERE, quoted
from backscroll.store.search import nodes

K1: Final = 1.2
"""The usual constant of bm25: how soon more of the same adds no more."""
NOWHERE: Final = quoted("#nowhere")
"""What no passage has."""
SHIFT: Final = 40
"""By how many bits the number of a build stands in front of an id; the database's `shared_id` has it too."""
MAX_NAMED_WORDS: Final = 200
"""Up to this many words that contain something are looked for one by one."""


class KnownWords(Protocol):
    """What is known of the words."""

    @property
    def sees_everything(self) -> bool:
        """Whether nothing is hidden from the asker."""
        ...

    @property
    def build(self) -> int | None:
        """The build that passages are of; None if they are of several, and their ids say which."""
        ...

    def rarity(self, word: str) -> float:
        """The weight of a word: the rarer, the higher."""
        ...

    def words_with(self, letters: str) -> list[str]:
        """The words that contain something."""
        ...


class _Leaf(NamedTuple):
    """What counts for the rank: how much it is worth, and whether how often it occurs does."""

    lexemes: str
    worth: float
    is_word: bool


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
        looked_for = None if needed is None else f"cast({self._named(needed)} as text)"
        source = f"found({looked_for or ''})"
        if (few := _few_passages(query)) is not None:
            source = f"found({self._named(list(few))}::bigint[])"
        # PostgreSQL finds only what the asker may see; the list of visible files is the second wall.
        scope = "" if words.sees_everything else " and w.file in (select id from files)"
        if files is not None:
            scope += f" and w.file = any({self._named(sorted(files))}::bigint[])"
        self.matching = f"from {source} w where {condition}{scope}"
        self.without_words = self.matching
        """The same, where the words of what matches are not looked at."""
        if condition == "true" and looked_for and few is None:
            self.without_words = f"from found({looked_for}, false) w where true{scope}"
        self.lexemes = exact if files is None else None
        """What a passage must have, if that alone decides whether it matches."""

    def ranked(self) -> dict[str, Any] | None:
        """What `best_passages` takes; None if more than words decides which passages match, or if few files do: it
        would score the matches of all others, too.
        """
        if self.lexemes is None or _names_files(self._query):
            return None
        leaves = self._leaves(self._query, 1.0)
        needed = next((n for n in range(len(leaves), 0, -1) if _any_of(leaves[:n]) == self.lexemes), 0)
        if not needed:
            leaves, needed = [_Leaf(self.lexemes, 0.0, is_word=False), *leaves], 1
        return {
            "queries": [leaf.lexemes for leaf in leaves],
            "worths": [leaf.worth * (K1 + 1 if leaf.is_word else 1.0) for leaf in leaves],
            "are_words": [leaf.is_word for leaf in leaves],
            "needed": needed,
        }

    def scores(self) -> tuple[str, str]:
        """The score of a passage in SQL, with one occurrence of each word and with all of them."""
        first, second = ["0.0"], ["0.0"]
        for leaf in self._leaves(self._query, 1.0):
            worth = f"factor{next(self._numbers)}"
            self.factors[worth] = leaf.worth
            query = self._tsquery(leaf.lexemes)
            has = f"case when tsv @@ {query} then cast(:{worth} as float8)"
            if leaf.is_word:
                first.append(f"{has} * {K1 + 1} / (1 + norm) else 0 end")
                rank = f"ts_rank('{{1,1,1,1}}', tsv, {query})"
                often = f"greatest(1, .65 * {rank} / (1.0001 - {rank}))"
                second.append(f"{has} * {often} * {K1 + 1} / ({often} + norm) else 0 end")
            else:
                for parts in (first, second):
                    parts.append(f"{has} else 0 end")
        return " + ".join(first), " + ".join(second)

    def _tsquery(self, lexemes: str) -> str:
        """A tsquery for the words of a passage, of the build that it is in."""
        if self._words.build is None:
            return f"of_build({self._named(lexemes)}, (block >> {SHIFT})::int)"
        return f"cast({self._named(lexemes.replace(HERE, f'{self._words.build}='))} as tsquery)"

    def _named(self, value: Any) -> str:  # noqa: ANN401
        name = f"value{next(self._numbers)}"
        self.values[name] = value
        return f":{name}"

    def _leaves(self, node: nodes.Node, factor: float) -> list[_Leaf]:
        match node:
            case nodes.HasWord(word):
                return [_Leaf(quoted(word), factor * self._words.rarity(word), is_word=True)]
            case nodes.HasPhrase(given, gap):
                worth = factor * sum(self._words.rarity(word) for word in given)
                return [_Leaf(phrase(given, gap), worth, is_word=False)]
            case nodes.HasBeginning(given):
                return [_Leaf(beginning(given), factor, is_word=False)]
            case nodes.SomeOf(parts):
                return [leaf for part in parts for leaf in self._leaves(part, factor)]
            case nodes.EachOf(parts, _, also):
                return [leaf for part in (*parts, *also) for leaf in self._leaves(part, factor)]
            case nodes.Weighed(part, more):
                return self._leaves(part, factor * more)
            case nodes.Worth(part, score):
                lexemes = self._lexemes(part)
                return [_Leaf(lexemes, factor * score, is_word=False)] if lexemes else []
            case _:
                return []

    def _lexemes(self, node: nodes.Node) -> str | None:
        """What a passage must have, as a tsquery; None if words alone do not tell."""
        match node:
            case nodes.HasWord(word):
                return quoted(word)
            case nodes.HasPhrase(given, gap):
                return phrase(given, gap)
            case nodes.HasBeginning(given):
                return beginning(given)
            case nodes.IsFact(name):
                return quoted(f"#{name}")
            case nodes.InFiles(files) if 0 < len(files) <= MAX_NAMED_WORDS:
                return " | ".join(map(self._in_file, files))
            case nodes.HasPart(letters):
                found = self._words.words_with(letters)
                return " | ".join(map(quoted, found)) if 0 < len(found) <= MAX_NAMED_WORDS else None
            case nodes.Weighed(part, _) | nodes.Worth(part, _):
                return self._lexemes(part)
            case nodes.Nothing() | nodes.SomeOf(()) | nodes.InFiles(()) | nodes.IsOneOf(()):
                return NOWHERE
            case nodes.SomeOf(parts):
                each = [self._lexemes(part) for part in parts]
                return None if None in each else " | ".join(f"({one})" for one in each)
            case nodes.EachOf((only,), (), _):
                return self._lexemes(only)
            case nodes.EachOf(parts, but_not, _) if parts:
                each = [self._lexemes(part) for part in parts]
                never = [self._lexemes(part) for part in but_not]
                if None in each or None in never:
                    return None
                return " & ".join([*(f"({one})" for one in each), *(f"!({one})" for one in never)])
            case _:
                return None

    def _in_file(self, file: int) -> str:
        """The file of a passage is one of its words."""
        if self._words.build is not None:
            return quoted(f"#file:{file}")
        return f"'{file >> SHIFT}=#file:{file & ((1 << SHIFT) - 1)}'"

    def _needed(self, node: nodes.Node) -> str | None:
        """A tsquery that every match fulfils; None if there is none."""
        match node:
            case nodes.EachOf(parts, _, _):
                some = [found for part in parts if (found := self._needed(part)) is not None]
                return " & ".join(f"({one})" for one in some) if some else None
            case nodes.SomeOf(parts) if parts:
                each = [self._needed(part) for part in parts]
                return None if None in each else " | ".join(f"({one})" for one in each)
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
        found = self._words.words_with(letters)
        if self._words.build is None:
            here = f"(select (block >> {SHIFT})::int || '=' || word from unnest({self._named(found)}::text[]) word)"  # noqa: S608
            return f"tsvector_to_array(w.tsv) && array{here}"
        return f"tsvector_to_array(w.tsv) && {self._named([f'{self._words.build}={word}' for word in found])}::text[]"


def _few_passages(node: nodes.Node) -> tuple[int, ...] | None:
    """The passages that a match must be one of, if they are named and few."""
    parts = node.parts if isinstance(node, nodes.EachOf) else (node,)
    return next(
        (part.blocks for part in parts if isinstance(part, nodes.IsOneOf) and len(part.blocks) <= MAX_NAMED_WORDS), None
    )


def _names_files(node: nodes.Node) -> bool:
    return isinstance(node, nodes.EachOf) and any(isinstance(part, nodes.InFiles) for part in node.parts)


def _any_of(leaves: list[_Leaf]) -> str:
    """What a passage has that has one of these, as `_lexemes` writes it."""
    return leaves[0].lexemes if len(leaves) == 1 else " | ".join(f"({leaf.lexemes})" for leaf in leaves)


def phrase(words: tuple[str, ...], gap: int = 0) -> str:
    """Words one after the other; two of them in either order, if others may stand between them."""
    if not gap:
        return " <-> ".join(map(quoted, words))
    one, other = map(quoted, words)
    return " | ".join(
        f"({first} <{far}> {second})" for first, second in ((one, other), (other, one)) for far in range(1, gap + 2)
    )


def beginning(words: tuple[str, ...]) -> str:
    """Words one after the other; of the last one, only the beginning."""
    return " <-> ".join([*map(quoted, words[:-1]), f"{quoted(words[-1])}:*"])
