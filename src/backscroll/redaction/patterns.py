"""Regular expressions that take time in proportion to the text, whatever stands in it."""

from functools import cache
from typing import Any


@cache
def compiled(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    """The expression, to be run over bytes."""
    import re2  # costs 10 ms

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20  # with less, the automata of long rules are thrown away and made anew all the time
    return re2.compile(pattern.encode("latin-1"), options)
