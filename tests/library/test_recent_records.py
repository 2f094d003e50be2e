"""A record that was appended is decoded once for rows and words."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.indexing import sources, texts
from backscroll.library.indexing.recent_records import RecentRecords
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file


def record(text: str) -> Record:
    found = decode_line(jsonl(draw(f"a <- - user: {text}")))
    assert isinstance(found, Record)
    return found


def test_an_appended_record_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hello\nb <- a assistant: done"))
    shelf.update()
    decoded: Counter[str] = Counter()

    def counting(name: str, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def count(data: bytes) -> Any:  # noqa: ANN401 - whatever it decodes
            decoded[name] += b"zirconium" in data
            return decode(data)

        return count

    for module, name in ((sources, "decode_all"), (texts, "decode_line")):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    shelf.append("S1", jsonl(draw("c <- b user: about zirconium", session="S1")))
    shelf.update()
    assert decoded == {"decode_all": 1}
    assert shelf.found("zirconium") == ["about zirconium"]


def test_what_stands_at_a_place_now_takes_the_place_of_what_stood_there() -> None:
    recent = RecentRecords()
    one, other = record("one"), record("other")
    recent.add("x", 0, len(one.raw), one)
    recent.add("x", 0, len(other.raw), other)
    assert recent.find("x", 0, len(other.raw)) is other
    assert recent.find("x", 0, len(one.raw)) is None
    assert recent.find("y", 0, len(other.raw)) is None


def test_memory_is_bounded_by_bytes() -> None:
    one = record("one")
    length = len(one.raw)
    recent = RecentRecords(3 * length)
    for at in range(10):
        recent.add("x", at, length, one)
    assert [at for at in range(10) if recent.find("x", at, length)] == [7, 8, 9]
    recent.add("x", 9, 4 * length, one)  # too long to be held, and what stood there before is another record
    assert recent.find("x", 9, length) is None
    recent.expect(4 * length)
    recent.add("x", 0, length, one)
    assert not any(recent.find("x", at, length) for at in range(10))
