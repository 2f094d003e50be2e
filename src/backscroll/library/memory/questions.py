"""Turn a question in plain words into its significant words and several queries.

A question is not a query: most of its words only make it a sentence, and the rest is remembered roughly. So several
queries are run, and a passage that several of them find is most likely the answer.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from backscroll.query.fields import BY_NAME
from backscroll.query.little_words import LITTLE_WORDS
from backscroll.query.signs import SIGN_LAST
from backscroll.query.snippets import fold
from backscroll.query.tree import All, Either, Field, Part, Phrase, Query, Word
from backscroll.query.words import pairs_of, split_scripts

MAX_TERMS: Final = 24
"""Number of words of a question that count."""
LONGEST_READ: Final = 4_000
"""Number of characters of a question that are read; a pasted error may be long."""
SHORTEST_STEM: Final = 4


class Term(NamedTuple):
    """A word of a question, or a name or phrase kept whole."""

    text: str
    is_name: bool
    """Whether the term is a name: a path, an identifier, an error, a phrase in quotation marks."""

    @property
    def words(self) -> list[str]:
        """The words of the term, folded. `c++` is one: a `c` alone is something else."""
        own = fold(self.text)
        return [own] if self.ends_with_signs else WORDS.findall(own)

    @property
    def ends_with_signs(self) -> bool:
        """Whether the term is a name such as `c++` or `C#`."""
        return SIGN_LAST.fullmatch(self.text) is not None

    @property
    def part(self) -> Part:
        """An optional term: matches with it rank higher."""
        return Word(self.text)

    @property
    def demand(self) -> Part:
        """A required term: it must be in the same passage."""
        return Phrase(self.text)


def terms_of(question: str) -> list[Term]:
    """Return the significant words in order; names first if there are too many."""
    question = question[:LONGEST_READ]
    terms: dict[str, Term] = {}
    for term in _terms(question):
        terms.setdefault(fold(term.text), term)
    significant = list(terms.values())
    if len(significant) > MAX_TERMS:
        worth = sorted(significant, key=lambda term: (not term.is_name, -len(term.text)))[:MAX_TERMS]
        significant = [term for term in significant if term in worth]
    return significant


def parts_of(term: Term) -> list[Term]:
    """Return the words in a name; a plain word is its own. A field of a query, such as `role:prompt`, is ignored."""
    field, colon, value = term.text.partition(":")
    if colon and field in BY_NAME:
        return [] if BY_NAME[field].kind == "choice" else parts_of(Term(value, term.is_name))
    words = [word for word in WORDS.findall(term.text) if fold(word) not in STOP_WORDS]
    return [Term(word, is_name=False) for word in words] if term.is_name and len(words) > 1 else [term]


def _terms(question: str) -> Iterator[Term]:
    plain = []
    at = 0
    for quoted in QUOTED.finditer(question):
        plain.append(question[at : quoted.start()])
        inside = next(filter(None, quoted.groups()))
        if len(inside) <= LONGEST_PHRASE and WORDS.search(inside):
            yield Term(" ".join(inside.split()), is_name=True)
            plain.append(inside if len(inside.split()) > 1 else "")
        else:
            plain.append(inside)
        at = quoted.end()
    plain.append(question[at:])
    for token in " ".join(plain).split():
        yield from _terms_of_token(token)


def _terms_of_token(token: str) -> Iterator[Term]:
    names = [Term(name, is_name=True) for name in SIGNED_EDGES.sub("", token).split("/")]
    if any(name.ends_with_signs for name in names) and all(SIGNED_NAME.fullmatch(name.text) for name in names):
        for name in names:
            yield from [name] if name.ends_with_signs else _terms_of_token(name.text)
        return
    token = EDGES.sub("", token)
    if not token or len(token) > LONGEST_TOKEN:
        return
    pieces = split_scripts(token)
    if any(is_unspaced for _, is_unspaced in pieces):
        for piece, is_unspaced in pieces:
            if is_unspaced:
                yield from (Term(pair, is_name=False) for pair in pairs_of(piece) if not _is_particle(pair))
            else:
                yield from _terms_of_token(piece)
        return
    words = WORDS.findall(token)
    if NAME.search(token) and words:
        yield Term(token, is_name=True)
        if len(words) > 1:
            last = token.replace("\\", "/").rstrip("/").rpartition("/")[2]
            if last != token and WORDS.search(last):
                yield Term(last, is_name=bool(NAME.search(last)))
        return
    for word in words:
        if fold(word) not in STOP_WORDS and (len(word) > 1 or word.isdigit()):
            yield Term(word, is_name=False)


def _is_particle(pair: str) -> bool:
    return all(character in PARTICLES for character in pair) or pair in UNSPACED_STOPS


class Variant(NamedTuple):
    """A query and the weight of its results."""

    name: str
    query: Query
    weight: float


def variants_of(terms: list[Term], frequency: Callable[[Term], int], fields: tuple[Part, ...] = ()) -> list[Variant]:
    """Return the queries for these terms; `frequency` gives the number of passages with a term."""
    counts = {term: frequency(term) for term in terms}
    there = sorted((term for term in terms if counts[term]), key=lambda term: counts[term])
    names = [term for term in there if term.is_name]
    in_conversation = Either((Field("role", "=", "prompt"), Field("role", "=", "answer")))
    made = []

    def add(name: str, weight: float, *parts: Part) -> None:
        if parts:
            made.append(Variant(name, Query("", All((*parts, *fields))), weight))

    add("words", WEIGHTS["words"], *(term.part for term in there[:MAX_OPTIONAL_TERMS]))
    if len(there) > 1:
        any_of = Either(tuple(term.demand for term in there))
        add("any", WEIGHTS["any"], any_of)
        add("said", WEIGHTS["said"], any_of, in_conversation)
        for number, share in (("all", 1.0), ("rare", 0.5)):
            rare = there[: max(2, round(len(there) * share))][:MAX_REQUIRED_TERMS]
            add(number, WEIGHTS[number], All(tuple(term.demand for term in rare)))  # all in one passage
    if names:
        add("names", WEIGHTS["names"], names[0].demand, *(term.part for term in there if term is not names[0]))
    stems = [Word(stem, prefix=True) if (stem := stem_of(term)) else term.part for term in terms[:MAX_OPTIONAL_TERMS]]
    if any(isinstance(stem, Word) and stem.prefix for stem in stems):
        add("stems", WEIGHTS["stems"], _either(stems))
    return made


def _either(parts: list[Part]) -> Part:
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


def stem_of(term: Term) -> str:
    """Return the stem that the forms of a word share; empty if it is the word itself."""
    word = term.text.lower()
    if term.is_name or not word.isalpha() or not word.isascii():
        return ""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word.removesuffix(ending)
    return word if len(word) > SHORTEST_STEM else ""


WEIGHTS: Final = {"words": 1.0, "any": 1.0, "said": 0.7, "all": 1.0, "rare": 0.8, "names": 1.0, "stems": 0.7}
MAX_OPTIONAL_TERMS: Final = 10
MAX_REQUIRED_TERMS: Final = 6
LONGEST_PHRASE: Final = 120
LONGEST_TOKEN: Final = 200
QUOTED: Final = re.compile(
    r"\"([^\"\n]+)\"|`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)|“([^”\n]+)”|„([^“\n]+)“|「([^」\n]+)」"
)
EDGES: Final = re.compile(r"^[^\w/~@.$#]+|[^\w/]+$")
SIGNED_EDGES: Final = re.compile(r"^[^\w/.]+|[^\w/+#]+$")
SIGNED_NAME: Final = re.compile(r"\.?\w+(?:\+\+|#)?")
"""`c++`, or a part of `C#/.NET`."""
WORDS: Final = re.compile(r"[^\W_]+")
NAME: Final = re.compile(
    r"\w[/\\]\w|^[/~.]+\w|\w\.[A-Za-z]\w{0,5}$|\w::?\w|\w_\w|[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\d|\d[A-Za-z]|\d\.\d"
    r"|\w-\w+-\w|(?:Error|Exception)$|^E[A-Z]{3,}$|^[A-Z]+-\d+$|^@\w|\(\)$|^--\w|^#\d"
)
ENDINGS: Final = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "ed", "er", "es", "s", "e", "y")
STOP_WORDS: Final = LITTLE_WORDS | {"find", "get", "make", "show", "time"}
"""Stop words of a question, in which `find` or `make` is not the name of a command."""
PARTICLES: Final = frozenset(
    "的了吗呢吧啊是在和与我你他她它们这那有不就也都为什么怎样哪里个のにはをがでとへもやかられるたてすまし이가은는을를에의도"
)
UNSPACED_STOPS: Final = frozenset(
    {
        "为什",
        "什么",
        "怎么",
        "如何",
        "我们",
        "你们",
        "之前",
        "上次",
        "可以",
        "です",
        "ます",
        "ました",
        "どう",
        "なぜ",
        "어떻",
        "떻게",
    }
)
