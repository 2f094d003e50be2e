"""Number of runs of saved prompts as slash commands: counted in the chats, where the client writes each of them."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from backscroll.errors import BackscrollError
from backscroll.library.library import Library
from backscroll.library.prompts.prompt import SavedPrompt
from backscroll.query.signs import command_word
from backscroll.query.tree import All, Field, Part, Phrase, Query


def command_uses(library: Library, prompts: Iterable[SavedPrompt]) -> dict[str, int]:
    """Return the number of runs of `/NAME` since each prompt was saved, by its key.

    One search for each, in the current index: runs that are not indexed yet are not counted.
    """
    if not library.is_indexed:
        return {}
    counts = {}
    for prompt in prompts:
        try:
            # Resumed sessions repeat rows: each counts once.
            counts[prompt.key] = len({hit.uuid for hit in library.reader.passages(_query(prompt), oldest_first=False)})
        except BackscrollError:  # the index is being replaced
            continue
    return counts


def _query(prompt: SavedPrompt) -> Query:
    parts: list[Part] = [Field("role", "=", "prompt"), Phrase(command_word(prompt.name))]
    with suppress(ValueError):  # a time that was edited by hand: count all runs
        parts.append(Field("after", ">=", datetime.fromisoformat(prompt.created)))
    return Query("", All(tuple(parts)))
