"""Texts as PostgreSQL takes them: it accepts neither the character 0 nor lone surrogates."""

from typing import Final

from backscroll.store.batches import readable, storable

STORED_ZERO: Final = "\U00100000"
"""A character of the last private plane, where `storable` puts surrogates too."""


def to_stored(text: str) -> str:
    """The text with what PostgreSQL does not accept mapped to unused characters."""
    if "\0" in text:
        text = text.replace("\0", STORED_ZERO)
    return text if text.isascii() else storable(text)


def from_stored(text: str) -> str:
    """The text as it was before `to_stored`."""
    return text if text.isascii() else readable(text).replace(STORED_ZERO, "\0")
