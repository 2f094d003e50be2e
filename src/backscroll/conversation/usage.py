"""Add up tokens. Every row of a message repeats its usage, the earlier ones as placeholders."""

from collections.abc import Iterable
from typing import Final

from msgspec import structs

from backscroll.conversation.rows import Row
from backscroll.records.content import Usage

BOUNDED: Final = ("output_tokens", "cost_microdollars", "cost_per_prompt_microdollars")
"""Sums that are lower bounds if they contain an answer whose final output count is not known."""
SYNTHETIC: Final = "<synthetic>"
"""The model of messages that the client wrote itself, and that cost nothing."""
COUNTED: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def largest(usages: Iterable[Usage]) -> Usage:
    """Return the usage of a message: the maximum of each number over its rows."""
    of_rows = list(usages)
    # The last row holds the true numbers, so fields that are not plain numbers are taken from it.
    return structs.replace(of_rows[-1], **{name: max(getattr(usage, name) for usage in of_rows) for name in COUNTED})


def total(rows: Iterable[Row]) -> Usage:
    """Return the total usage of these rows: each message counts once."""
    messages: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage and row.model != SYNTHETIC:
            messages.setdefault(row.message_id or row.uuid, []).append(row.usage)
    counted = [largest(usages) for usages in messages.values()]
    return Usage(**{name: sum(getattr(usage, name) for usage in counted) for name in COUNTED})
