"""Write a tree as the text of a query."""

import re
from datetime import UTC, datetime
from typing import Final

from backscroll.query.fields import BY_NAME
from backscroll.query.parse import OPERATORS, parse
from backscroll.query.patterns import escape_slashes, stays_a_word
from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Regex, Word
from backscroll.query.values import number_text


def write(query: Query) -> str:
    """Return a text that parses to the query's tree, with as few parentheses as possible. It may exceed MAX_LENGTH."""
    return " ".join(_at_the_top(part) for part in query.root.parts)


def field_text(name: str, value: str) -> str:
    """Return the field as written in a query, with quotation marks where needed."""
    return f"{name}:{value if BARE.fullmatch(value) else _quote(value)}"


def with_field(text: str, name: str, value: str) -> str:
    """Return the query with this field added. Raises QueryError for an invalid query or value."""
    if name not in BY_NAME:
        raise ValueError(f"{name} is not a field")
    parse(text, SOME_TIME)  # by itself: a text such as `OR b` must not become valid by the prefix
    longer = f"{field_text(name, value)} {text}".rstrip()
    parse(longer, SOME_TIME)
    return longer


def _at_the_top(part: Part) -> str:
    # Anywhere else, the place of a word says that it is required.
    return f"+{_term(part)}" if isinstance(part, Word) and part.is_required else _side_by_side(part)


def _side_by_side(part: Part) -> str:
    return " OR ".join(_alternative(inner) for inner in part.parts) if isinstance(part, Either) else _term(part)


def _alternative(part: Part) -> str:
    # AND, not parentheses: the written query must not be nested deeper than the typed one.
    if isinstance(part, All) and not any(isinstance(inner, Either) for inner in part.parts):
        return " AND ".join(_term(inner) for inner in part.parts)
    return _term(part)


def _term(part: Part, *, negated: bool = False) -> str:
    match part:
        case Not(inner):
            return f"-{_term(inner, negated=True)}"
        case All(parts):
            return _group(" ".join(_side_by_side(inner) for inner in parts))
        case Either():
            return _group(_side_by_side(part))
        case Word():
            return _word(part, negated=negated)
        case Phrase(text):
            return _quote(text)
        case Regex(pattern):
            return f"/{escape_slashes(pattern)}/"
        case Field():
            return field_text(part.name, part.typed or _value(part))


def _group(text: str) -> str:
    # A word that opened a parenthesis would take ours as its closing one.
    last = text.rsplit(None, 1)[-1]
    return f"({text} )" if last.count("(") > last.count(")") else f"({text})"


def _word(word: Word, *, negated: bool) -> str:
    text = f"{word.text}*" if word.prefix else word.text
    if text.startswith("-"):
        plain = not negated and (text == "-" or text.startswith("--"))
    elif text.startswith("/"):
        plain = stays_a_word(text)
    elif text.startswith("+"):
        plain = OPERATORS["+"].match(text) is None
    else:
        plain = not text.startswith(('"', "("))
    return text if plain else f"\\{text}"


def _value(part: Field) -> str:
    if isinstance(part.value, datetime):
        return part.value.isoformat()
    if isinstance(part.value, str):
        return part.value
    return ("" if part.comparison == "=" else part.comparison) + number_text(part.value)


def _quote(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


BARE: Final = re.compile(r"(?!:|//)[\w.,@+~#%$<>=:/-]+")
SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a text is a query does not depend on the time, but parsing needs one."""
