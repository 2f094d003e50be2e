"""Texts that PostgreSQL accepts: without the character 0 and without lone surrogates."""

from typing import Final

from backscroll.store.batches import readable, storable

STORED_ZERO: Final = "\U00100000"
"""A character of the last private plane, where `storable` puts surrogates too."""


def to_stored(text: str) -> str:
    """Return the text with unused characters in place of those that PostgreSQL does not accept."""
    if "\0" in text:
        text = text.replace("\0", STORED_ZERO)
    return text if text.isascii() else storable(text)


def from_stored(text: str) -> str:
    """Return the text as it was before `to_stored`."""
    return text if text.isascii() else readable(text).replace(STORED_ZERO, "\0")
