"""Counts in the notes of a report."""


def count(number: int, one: str, several: str = "") -> str:
    """Format a count with its noun: `1 call`, `12,257 calls`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
