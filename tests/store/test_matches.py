"""The local store counts matches by file, in parts if there are more files than the engine counts at once."""

from pathlib import Path

import pytest

from backscroll.store.local import matches
from backscroll.store.local.store import LocalStore
from tests.contract.support import Desk

FILES = 6


def test_more_files_than_are_counted_at_once_are_all_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path / "index").start_writing()
    desk = Desk(store).draw({
        f"S{number}": f"@ time=2026-01-0{number + 1}T10:00\nu{number} <- - user: apples" for number in range(FILES)
    })  # fmt: skip
    asked = ("relevance", "newest", "oldest")
    whole = [desk.ranks("apples", sort=sort) for sort in asked]
    assert all(found.count("|") == FILES - 1 for found in whole)
    for most in range(1, FILES + 1):
        monkeypatch.setattr(matches, "MAX_FILES", most)
        desk = desk.draw({})
        assert [desk.ranks("apples", sort=sort) for sort in asked] == whole, most
        assert desk.ask("apples").total_chats == FILES
    store.close()
