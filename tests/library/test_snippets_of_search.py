"""The snippets of a search are prose where the passage is, and cut between words."""

from pathlib import Path

from tests.library.support import Shelf
from tests.support.homes import session_file

PLAN = f"Implement this plan: # Zebra plan ## Context {'The stripes of the zebra are counted. ' * 12}"


def snippets(shelf: Shelf, query: str) -> dict[str, str]:
    """The snippets of all passages, by role."""
    with shelf.open() as library:
        found = library.search(query, limit=20)
        return {str(passage.hit.role): passage.snippet.text for chat in found.chats for passage in chat.passages}


def test_a_title_that_is_the_start_of_a_prompt_has_no_headings_and_no_part_of_a_word(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("zebra", f"@ session=zebra\na <- - user: {PLAN}"))
    shelf.update()

    title = snippets(shelf, "zebra")["title"]

    assert title.startswith("Implement this plan: Zebra plan Context The stripes")
    assert title.endswith("…")
    assert {word.rstrip("…") for word in title.split()} <= set(PLAN.split())


def test_what_the_client_injects_has_no_markup(tmp_path: Path) -> None:
    drawn = """
        @ session=skill
        a <- - user: paint it
        b <- a user: "## A skill\\nUse it to **count** the `stripes` of a zebra." {"isMeta": true}
    """
    shelf = Shelf(tmp_path).write(session_file("skill", drawn))
    shelf.update()

    assert snippets(shelf, "stripes") == {"other": "A skill Use it to count the stripes of a zebra."}


def test_the_output_of_a_tool_is_shown_as_it_is(tmp_path: Path) -> None:
    drawn = """
        @ session=tool
        a <- - user: look
        b <- a call(m) toolu_1 Read {"file_path": "/x.md"}
        c <- b result toolu_1: "**zebra** of the file"
    """
    shelf = Shelf(tmp_path).write(session_file("tool", drawn))
    shelf.update()

    assert snippets(shelf, "zebra")["output"] == "**zebra** of the file"


def test_what_an_agent_answers_is_prose(tmp_path: Path) -> None:
    drawn = """
        @ session=agent
        a <- - user: look
        b <- a call(m) toolu_1 Task {"description": "look", "prompt": "look"}
        c <- b result toolu_1: "## Found\\nA **zebra** in `zoo.py`"
    """
    shelf = Shelf(tmp_path).write(session_file("agent", drawn))
    shelf.update()

    assert snippets(shelf, "zebra")["output"] == "Found A zebra in zoo.py"
