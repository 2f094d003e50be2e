"""An error that was met before is found by its pattern, with what solved it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from backscroll.library.library import Library
from backscroll.library.memory.similar_errors import SimilarErrors, cost_of_error, similar_errors
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

SOLVED: Final = """
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00:00.000Z
sa <- - user: run the tests
sb <- sa call(sm1) st1 Bash {"command": "go test ./cart"}
sc <- sb error st1: "cart/sum.go:12:9: undefined: totalPrice"
sd <- sc call(sm2) st2 Read {"file_path": "/home/ada/shop/cart/sum.go"}
se <- sd result st2: package cart
sf <- se call(sm3) st3 Edit {"file_path": "/home/ada/shop/cart/sum.go", "old_string": "", "new_string": "totalPrice=0"}
sg <- sf result st3: ok
sh <- sg call(sm4) st4 Bash {"command": "cd cart && go test -v ./cart"}
si <- sh result st4: ok
sj <- si assistant(sm5): The tests pass; totalPrice was never declared.
"""
UNSOLVED: Final = """
@ session=S2 cwd=/home/ada/blog time=2026-02-05T10:00:00.000Z
ua <- - user: build it
ub <- ua call(um1) ut1 Bash {"command": "go test ./..."}
uc <- ub error ut1: "post/list.go:7:2: undefined: renderAll"
ud <- uc call(um2) ut2 Bash {"command": "go test ./post"}
ue <- ud error ut2: "post/list.go:7:2: undefined: renderAll"
uf <- ue assistant(um3): I give up.
"""
OTHER: Final = """
@ session=S3 cwd=/home/ada/blog time=2026-02-06T10:00:00.000Z
oa <- - user: look at it
ob <- oa call(om1) ot1 Read {"file_path": "/home/ada/blog/none.txt"}
oc <- ob error ot1: "<tool_use_error>File does not exist.</tool_use_error>"
od <- oc assistant(om2): There is no such file.
"""
S1, S2, S3 = session_uuid("S1"), session_uuid("S2"), session_uuid("S3")
ASKED: Final = "pay/tax.go:99:1: undefined: totalPrice"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    drawings = {"S1": SOLVED, "S2": UNSOLVED, "S3": OTHER}
    shelf = Shelf(tmp_path).write({session_path(name): jsonl(draw(text)) for name, text in drawings.items()})
    shelf.update()
    with shelf.open() as opened:
        yield opened


def steps(found: SimilarErrors, at: int = 0) -> list[tuple[str, str]]:
    return [(step.kind, step.text) for step in found.errors[at].solution]


def test_an_error_that_differs_in_places_is_the_same(library: Library) -> None:
    found = similar_errors(library, ASKED)
    assert found.signature == "<path>:<n>:<n>: undefined: totalPrice"
    assert (found.errors[0].source.chat, found.errors[0].is_same) == (S1, True)
    assert found.errors[0].text == "cart/sum.go:12:9: undefined: totalPrice"


def test_what_solved_it_is_what_was_done_until_the_same_command_went_well(library: Library) -> None:
    found = similar_errors(library, ASKED)
    assert found.errors[0].is_solved is True
    assert steps(found) == [
        ("edit", "cart/sum.go: totalPrice=0"),
        ("worked", "cd cart && go test -v ./cart"),
        ("answer", "The tests pass; totalPrice was never declared."),
    ]
    assert all(step.source.message and step.source.chat == S1 for step in found.errors[0].solution)


def test_a_similar_error_ranks_after_the_same_one(library: Library) -> None:
    found = similar_errors(library, ASKED)
    assert [(error.source.chat, error.is_same) for error in found.errors[1:]] == [(S2, False), (S2, False)]
    assert {error.is_solved for error in found.errors[1:]} <= {False, None}


def test_the_word_error_before_it_makes_no_difference(library: Library) -> None:
    found = similar_errors(library, "Error: File does not exist.")
    assert (found.errors[0].source.chat, found.errors[0].is_same, found.errors[0].is_solved) == (S3, True, None)
    assert steps(found) == [("answer", "There is no such file.")]


def test_sessions_are_left_out_and_projects_preferred(library: Library) -> None:
    assert {error.source.chat for error in similar_errors(library, ASKED, without=[S1]).errors} == {S2}
    near = similar_errors(library, "x.go:1:1: undefined: everything", project="/home/ada/blog")
    assert near.errors[0].source.chat == S2


def test_something_that_was_never_met_finds_nothing(library: Library) -> None:
    found = similar_errors(library, "Segmentation fault (core dumped)")
    assert found.errors == []
    assert found.hint.startswith("no similar error")
    assert similar_errors(library, "").errors == []


@pytest.mark.parametrize("tokens", [0, 200, 260, 400, 1000, 5000])
def test_the_answer_keeps_to_its_budget(library: Library, tokens: int) -> None:
    found = similar_errors(library, ASKED, max_tokens=tokens)
    assert sum(map(cost_of_error, found.errors)) <= found.tokens <= max(200, tokens)
    assert found.errors
