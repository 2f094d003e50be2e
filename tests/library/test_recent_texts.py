"""A record is decoded once for rows and words: its texts are held until their words are indexed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backscroll.files.reading import LONGEST_LINE
from backscroll.library.indexing import ingest, sources, tasks, texts
from backscroll.library.indexing.recent_texts import RecentTexts
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a line with the word zirconium is decoded, and where."""
    counts: Counter[str] = Counter()

    def counting(name: str, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def count(data: bytes) -> Any:  # noqa: ANN401 - whatever it decodes
            if b"zirconium" in data:
                counts[name] += 1
            return decode(data)

        return count

    for module, name in ((sources, "decode_all"), (texts, "decode_line")):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return counts


def test_an_appended_record_is_decoded_once(tmp_path: Path, decoded: Counter[str]) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hello\nb <- a assistant: done"))
    shelf.update()
    shelf.append("S1", jsonl(draw("c <- b user: about zirconium", session="S1")))
    shelf.update()
    assert decoded == {"decode_all": 1}
    assert shelf.found("zirconium") == ["about zirconium"]


def test_a_first_update_decodes_every_record_once(
    tmp_path: Path, decoded: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "FIRST_BATCH_BYTES", 1)  # several batches
    monkeypatch.setattr(tasks, "BATCH_BYTES", 1)
    monkeypatch.setattr(ingest, "BULK_ROWS", 1)  # the chats are let go after each of them
    shelf = Shelf(tmp_path)
    for number in range(4):
        shelf.write(
            session_file(
                f"S{number}", f"a{number} <- - user: hello\nb{number} <- a{number} assistant: zirconium of {number}"
            )
        )
    shelf.update()
    assert decoded == {"decode_all": 4}
    assert sorted(shelf.found("zirconium")) == [f"zirconium of {number}" for number in range(4)]


def test_what_does_not_fit_into_memory_is_read_again(
    tmp_path: Path, decoded: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecentTexts, "is_open", lambda *_: False)
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hello\nb <- a assistant: about zirconium"))
    shelf.update()
    assert decoded == {"decode_all": 1, "decode_line": 1}
    assert shelf.found("zirconium") == ["about zirconium"]


def test_a_new_text_replaces_the_old_one_at_its_position() -> None:
    recent = RecentTexts()
    recent.add("x", 0, 90, 0, "one")
    recent.add("x", 0, 95, 0, "other")
    recent.add("x", 0, 95, 0, "another")
    assert recent.find("x", 0, 95, 0) == "another"
    assert recent.find("x", 0, 95, 1) is None
    assert recent.find("y", 0, 95, 0) is None
    recent.clear()
    assert recent.find("x", 0, 95, 0) is None


def test_memory_is_bounded_by_bytes_and_the_longest_line() -> None:
    recent = RecentTexts(1000)
    assert recent.is_open(LONGEST_LINE)
    assert not recent.is_open(LONGEST_LINE + 1)
    recent.add("x", 0, 90, 0, "a" * 1000)
    assert not recent.is_open(90)
    recent.clear()
    assert recent.is_open(90)
    assert not RecentTexts(0).is_open(90)
