"""What an index remembers of its own files does not grow with the number of updates."""

import json
from pathlib import Path

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file


def test_files_that_were_merged_away_are_forgotten(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hello"))
    shelf.update()
    for number in range(12):
        shelf.append("S1", jsonl(draw(f"r{number} <- - user: once more", session="S1")))
        shelf.update()
    looks = json.loads((shelf.generation / "checked").read_bytes())["looks"]
    files = {path.name for path in shelf.generation.rglob("*") if path.is_file()}
    assert "rows.sqlite" in looks
    assert set(looks) <= files
    shelf.check_rebuilt(["hello", "once"])
