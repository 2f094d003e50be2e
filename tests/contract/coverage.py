"""Which methods of the interface a test is about, and whether it really calls them.

A test says so with `@covers("search")`. The stores of the suite write down what is called, each test is held to what it
says (see `conftest`), and `test_coverage` compares all that is said with the interface. No test depends on another, so
it does not matter in which process each of them runs.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, cast

import pytest

import tests.contract
from backscroll.store.base import Store
from backscroll.store.reader import StoreReader
from backscroll.store.reports import Reports

covers = pytest.mark.covers
CALLED: set[str] = set()
"""What was called since the test began."""
CALLED_WITHIN: set[str] = set()
"""Those of them that were asked within a scope of less than everything."""


def members(interface: type) -> set[str]:
    """The methods and properties of an interface."""
    return {name for name in vars(interface) if not name.startswith("_")}


INTERFACE = members(Store) | members(StoreReader) | members(Reports)


def recorded(store: Store) -> Store:
    """A store that writes down what it is asked."""
    return cast("Store", _Recorder(store))


def said() -> Iterator[str]:
    """Every method that some test says it is about."""
    for module in pkgutil.iter_modules(tests.contract.__path__):
        if module.name.startswith("test_"):
            for name, value in vars(importlib.import_module(f"tests.contract.{module.name}")).items():
                if name.startswith("test_"):
                    yield from (said for mark in getattr(value, "pytestmark", []) for said in _names(mark))


def _names(mark: pytest.Mark) -> tuple[str, ...]:
    return mark.args if mark.name == "covers" else ()


class _Recorder:
    def __init__(self, inner: object, *, is_limited: bool = False) -> None:
        self._inner = inner
        self._is_limited = is_limited

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        CALLED.add(name)
        if self._is_limited:
            CALLED_WITHIN.add(name)
        value = getattr(self._inner, name)
        if name == "within":
            return lambda scope: _Recorder(value(scope), is_limited=scope.homes is not None)
        if name in ("reports", "clone", "start_writing"):
            return lambda *given, **named: _Recorder(value(*given, **named), is_limited=self._is_limited)
        return value
