"""Find keys that occur twice in a JSON object.

Every decoder, ours too, keeps the last value only: the others could be secrets that no rule has seen.
"""

import json
from typing import Any, Final

import msgspec

AROUND: Final = b"\0 \t\r\n"


def has_duplicate_keys(line: bytes, value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether a line may have more than `value`, which was decoded from it. If so, the value is to be written instead.

    What is no JSON, and was decoded all the same, may have more, too.
    """
    body = line.strip(AROUND)
    try:
        if msgspec.json.encode(value) == body:
            return False  # so it is with nearly every line: a client writes what an encoder writes
    except (OverflowError, ValueError, TypeError):  # numbers that only Python can hold
        pass
    found = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len({key for key, _ in pairs}) < len(pairs)

    try:
        json.loads(body.decode("utf-8", "surrogatepass"), object_pairs_hook=look)
    except (ValueError, RecursionError):
        return True
    return found
