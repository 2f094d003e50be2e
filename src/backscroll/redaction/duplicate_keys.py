"""Find keys that occur twice in a JSON object.

Every decoder, including ours, keeps the last value only: the others could be secrets that no rule has checked.
"""

import json
from typing import Any, Final

import msgspec

AROUND: Final = b"\0 \t\r\n"


def has_duplicate_keys(line: bytes, value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether a line may have more than `value`, which was decoded from it. If so, write the value instead.

    Invalid JSON that was decoded nevertheless may have more, too.
    """
    body = line.strip(AROUND)
    try:
        if msgspec.json.encode(value) == body:
            return False  # as for nearly every line: clients write the output of an encoder
    except (OverflowError, ValueError, TypeError):  # numbers that only Python can hold
        pass
    is_repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal is_repeated
        is_repeated = is_repeated or len({key for key, _ in pairs}) < len(pairs)

    try:
        json.loads(body.decode("utf-8", "surrogatepass"), object_pairs_hook=look)
    except (ValueError, RecursionError):
        return True
    return is_repeated
