"""Read JSON that the fast decoder refuses: glued and damaged objects, lone surrogates, invalid UTF-8, NaN.

The returned values are clean: they can be encoded as UTF-8 and as strict JSON. The slow path, taken only after the fast
one failed.
"""

import json
import math
import re
from typing import Any, Final

LONGEST_INTEGER: Final = 4000  # digits; Python itself refuses more than 4,300
SURROGATES: Final = re.compile("[\ud800-\udfff]")


def text_of(data: bytes) -> str:
    """Return the bytes as text, one to one: `size_of` any part of it is the size of its bytes."""
    return data.decode("utf-8", "surrogateescape")


def size_of(text: str) -> int:
    """Return the number of bytes of the line that a part of `text_of` covers."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def parse_at(text: str, begin: int) -> tuple[Any, int]:
    """Return the cleaned JSON value at `begin`, and its end. ValueError or RecursionError if there is none."""
    value, end = DECODER.raw_decode(text, begin)
    return clean(value), end


def clean(value: Any) -> Any:  # noqa: ANN401
    """Return a value that strict JSON can encode: U+FFFD replaces surrogates, null replaces NaN."""
    if isinstance(value, str):
        return value if value.isascii() else SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else math.inf


# Not strict: a bare control character inside a string is accepted.
DECODER: Final = json.JSONDecoder(strict=False, parse_int=_integer)
