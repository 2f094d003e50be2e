"""Add up tokens. Every row of a message repeats its usage, the earlier ones as placeholders."""

from collections.abc import Iterable
from typing import Final

from msgspec import structs

from backscroll.conversation.rows import Row
from backscroll.records.content import Usage

SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the client wrote itself, and that cost nothing."""
COUNTED: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def largest(usages: Iterable[Usage]) -> Usage:
    """The usage of a message: the maximum of each number over its rows."""
    given = list(usages)
    # The last row holds the true numbers, so what is not a plain number is taken from there.
    return structs.replace(given[-1], **{name: max(getattr(usage, name) for usage in given) for name in COUNTED})


def total(rows: Iterable[Row]) -> Usage:
    """The total usage of these rows: each message counts once."""
    messages: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage and row.model != SYNTHETIC:
            messages.setdefault(row.message_id or row.uuid, []).append(row.usage)
    counted = [largest(usages) for usages in messages.values()]
    return Usage(**{name: sum(getattr(usage, name) for usage in counted) for name in COUNTED})
