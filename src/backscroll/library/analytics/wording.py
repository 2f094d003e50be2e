"""How notes under a report count things."""


def count(number: int, one: str, several: str = "") -> str:
    """`1 call`, `12,257 calls`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
