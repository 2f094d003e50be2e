"""The inputs and results of tools that change files."""

import json

from msgspec import Raw

from backscroll.records.edits import Hunk, file_result


def test_a_changed_piece_begins_where_it_did_before_the_change() -> None:
    patch = [
        {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["+x", " a"]},
        {"oldStart": 4, "oldLines": 1, "newStart": 5, "newLines": 1, "lines": ["-d", "+D"]},
    ]
    found = file_result(Raw(json.dumps({"structuredPatch": patch}).encode()))
    assert found.hunks == (Hunk(1, ("+x", " a")), Hunk(4, ("-d", "+D")))
    assert (found.added, found.removed) == (2, 1)
