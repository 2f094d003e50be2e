"""How often saved prompts were run as slash commands: counted in the chats, where the client writes each of them."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from backscroll.errors import BackscrollError
from backscroll.library.library import Library
from backscroll.library.prompts.prompt import SavedPrompt
from backscroll.query.signs import command_word
from backscroll.query.tree import All, Field, Part, Phrase, Query


def command_uses(library: Library, prompts: Iterable[SavedPrompt]) -> dict[str, int]:
    """How often `/NAME` was run since each prompt was saved, by its key.

    One search for each, in the index as it is: runs that are not indexed yet are not counted.
    """
    if not library.is_indexed:
        return {}
    found = {}
    for one in prompts:
        try:
            # Resumed sessions repeat rows: each counts once.
            found[one.key] = len({hit.uuid for hit in library.reader.passages(_query(one), oldest_first=False)})
        except BackscrollError:  # the index is being replaced
            continue
    return found


def _query(prompt: SavedPrompt) -> Query:
    parts: list[Part] = [Field("role", "=", "prompt"), Phrase(command_word(prompt.name))]
    with suppress(ValueError):  # a time that was edited by hand: count all of them
        parts.append(Field("after", ">=", datetime.fromisoformat(prompt.created)))
    return Query("", All(tuple(parts)))
