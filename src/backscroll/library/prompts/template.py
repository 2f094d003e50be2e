r"""Variables in the text of a prompt: `{{name}}` is replaced by a value when the prompt is used.

`\{{name}}` is the text `{{name}}` itself, and `${{name}}`, as in workflow files, is left alone.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from backscroll.errors import UsageError


class TemplatePiece(NamedTuple):
    """A part of a text: words, or the placeholder of `variable`."""

    text: str
    variable: str = ""


def variables_of(text: str) -> tuple[str, ...]:
    """Return the variables of a text, in the order of their first occurrence."""
    return tuple(dict.fromkeys(piece.variable for piece in pieces_of(text) if piece.variable))


def pieces_of(text: str) -> list[TemplatePiece]:
    """Split the text at its variables."""
    pieces, at = [], 0
    for match in PLACE.finditer(text):
        pieces.append(TemplatePiece(text[at : match.start()]))
        pieces.append(TemplatePiece(f"{{{{{match[2]}}}}}", match[2]) if match[2] else TemplatePiece(match[1]))
        at = match.end()
    return [*pieces, TemplatePiece(text[at:])]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with a value for each variable. Placeholders inside values are not replaced."""
    known = variables_of(text)
    if unknown := sorted(values.keys() - set(known)):
        hint = f"its variables are: {', '.join(known)}" if known else "this prompt has no variables"
        raise UsageError(f"the prompt has no variable {unknown[0]}", hint)
    if missing := [name for name in known if name not in values]:
        hint = f"give {' '.join(f'{name}=VALUE' for name in missing)}"
        raise UsageError(f"no value for {', '.join(missing)}", hint)
    return "".join(values[piece.variable] if piece.variable else piece.text for piece in pieces_of(text))


def with_variables(text: str, words: Mapping[str, str]) -> str:
    """Return the text with variables in place of words: `{"branch": "main"}` puts `{{branch}}` for `main`."""
    for name, word in words.items():
        if not NAME.fullmatch(name):
            hint = "use letters, digits, _ and -, beginning with a letter"
            raise UsageError(f"{name!r} cannot be the name of a variable", hint)
        if not word or word not in text:
            raise UsageError(f"“{word}” is not in the prompt", "give text that the prompt has")
    if not words:
        return text
    # In one pass, the longest first: a value must not be found inside a variable that was just inserted.
    by_word = {word: name for name, word in words.items()}
    pattern = "|".join(re.escape(word) for word in sorted(by_word, key=len, reverse=True))
    return re.sub(pattern, lambda match: "{{" + by_word[match[0]] + "}}", text)


NAME: Final = re.compile(r"[^\W\d_][\w-]{0,49}")
PLACE: Final = re.compile(rf"\\(\{{\{{)|(?<!\$)\{{\{{[ \t]*({NAME.pattern})[ \t]*\}}\}}")
"""A variable, or an escaped brace."""
