"""Regular expressions that take linear time for any text."""

from collections.abc import Iterable
from functools import cache
from typing import Any


@cache
def compile_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    """Compile an expression for bytes."""
    import re2  # costs 10 ms

    return re2.compile(pattern.encode("latin-1"), _options())


class AnyOf:
    """Many case-insensitive expressions, searched in one pass over a text."""

    def __init__(self, patterns: Iterable[str]) -> None:
        import re2

        options = _options()
        options.case_sensitive = False
        self._set = re2.Set.SearchSet(options)
        self._empty = True
        for pattern in patterns:
            self._set.Add(pattern.encode("latin-1"))
            self._empty = False
        if not self._empty:
            self._set.Compile()

    def found(self, data: bytes) -> list[int]:
        """Return the numbers of the patterns that match the text, in order."""
        return sorted(self._set.Match(data) or ()) if not self._empty else []


def _options() -> Any:  # noqa: ANN401
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20  # with less, the automata of long rules are discarded and rebuilt all the time
    return options
