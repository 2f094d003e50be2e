"""The memory of an export is a small multiple of the record, however many values it has."""

import json
import re
import tracemalloc
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final

import pytest
from bench.hostile_shapes import tiny_objects, tiny_values

from backscroll.library.sharing.share import redactor, rows_of, share
from backscroll.records.large_values import MAX_PARTS
from backscroll.render.html.export import Assets, Format, exported
from tests.library.support import Shelf
from tests.support.homes import SHOP
from tests.support.samples import mostly_in_all

VALUES: Final = MAX_PARTS + 100_000
MOST: Final = 8
"""How many bytes for each byte of the file; as values, and written line by line, a page took 37 and JSON 11."""


CASES: Final = [*product(("html", "md", "json"), (tiny_values, tiny_objects), (False, True))]


@pytest.mark.parametrize(("form", "shape", "is_redacted"), mostly_in_all(CASES, each=3))
def test_very_many_small_values_take_no_more_than_their_bytes(
    form: Format, shape: Callable[[int], dict[str, bytes]], is_redacted: bool, tmp_path: Path
) -> None:
    files = shape(VALUES)
    shelf = Shelf(tmp_path).write({f"{SHOP}/{name}": data for name, data in files.items()})
    shelf.update()
    with shelf.open() as library:
        stored = library.chats()[0]
        hiding = redactor() if is_redacted else None
        for _ in exported(share(library, stored, hiding), form, Assets("", "")):
            pass  # what is made once in a process is not counted
        tracemalloc.start()
        try:
            length = sum(map(len, exported(share(library, stored, hiding), form, Assets("", ""))))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert length > 0
    assert peak < MOST * sum(map(len, files.values()))


def test_the_json_has_all_of_them_and_the_others_say_what_they_left_out(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({f"{SHOP}/{name}": data for name, data in tiny_values(VALUES).items()})
    shelf.update()
    with shelf.open() as library:
        stored = library.chats()[0]
        forms: tuple[Format, ...] = ("json", "html", "md")
        made = {
            form: "".join(exported(share(library, stored, None), form, Assets("", ""), detail="everything"))
            for form in forms
        }
    calls = [call for message in json.loads(made["json"])["messages"] for call in message["calls"]]
    assert calls[0]["input"] == {"numbers": [1] * VALUES}
    assert all("they are in the jsonl export" in made[form] for form in ("html", "md"))


def test_a_redacted_export_says_what_it_did_not_look_through_and_keeps_the_rest(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({f"{SHOP}/{name}": data for name, data in tiny_values(VALUES).items()})
    shelf.update()
    with shelf.open() as library:
        rows = [json.loads(line) for line in b"".join(rows_of(library, library.chats()[0], redactor())).splitlines()]
    asked, called, returned, said = rows
    left_out = r"^\[left out: [0-9,]+ bytes with more than 300,000 values, too many to look through for secrets\]$"
    assert re.match(left_out, called["message"]["content"][0]["input"]["numbers"])
    assert re.match(left_out, returned["toolUseResult"]["numbers"])
    assert returned["message"]["content"][0]["content"] == "done"
    assert asked["message"]["content"] == "do it"
    assert said["message"]["content"][0]["text"] == "part 3"
