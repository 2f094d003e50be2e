"""What happened to a file: found by the end of its path, never read from the disk."""

from pathlib import Path

import pytest

from backscroll.web.pages.files_versions import origins
from tests.library.analytics.test_files import APP, FIRST, SECOND
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_file, session_path
from tests.web.shown import Viewer

HOSTILE = "/home/ada/<script>alert(1)<_script>\"'><svg onload=alert(2)>.py"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write({
        session_path("S1"): jsonl(draw(FIRST)),
        session_path("S2"): jsonl(draw(SECOND)),
    })  # fmt: skip
    shelf.update()
    return Viewer(shelf)


def test_files_are_listed_with_what_was_done_to_them(viewer: Viewer) -> None:
    page = viewer.get("/files")
    assert f"/files?path={APP.replace('/', '%2F')}" in page.hrefs()
    assert "2 edits and 1 read " in page.text
    for sort in ("reads", "chats", "last"):
        assert viewer.get(f"/files?sort={sort}").hrefs("/files?path=")
    assert "use one of" in viewer.get("/files?sort=size", 400).text


def test_a_file_is_found_by_the_end_of_its_path_or_a_part_of_it(viewer: Viewer) -> None:
    assert "2 changes" in viewer.get(f"/files?path={APP}").text
    assert "2 changes" in viewer.get("/files?path=shop/app.py").text
    several = viewer.get("/files?path=app.py")
    assert len([link for link in several.hrefs("/files?path=") if "app.py" in link]) == 2
    assert "2 changes" in viewer.get("/files?path=SHOP").text
    assert "see the list of files" in viewer.get("/files?path=nothing.py", 404).text


def test_every_change_says_when_in_which_chat_and_what_was_asked_for(viewer: Viewer) -> None:
    page = viewer.get(f"/files?path={APP}")
    chat = session_uuid("S1")
    assert "make it three" in page.text
    assert "begin the app" in page.text
    assert page.text.index("make it three") < page.text.rindex("begin the app")
    assert page.hrefs(f"/chats/{chat}?at=t2")
    assert "failed" in page.text
    assert "what is in it?" not in page.text
    with_reads = viewer.get(page.link("Show reads"))
    assert "what is in it?" in with_reads.text
    assert "+1" in page.text
    assert "−1" in page.text


def test_the_links_to_a_change_lead_into_the_chat(viewer: Viewer) -> None:
    for link in viewer.get(f"/files?path={APP}&reads=1").hrefs("/chats/"):
        assert viewer.ask("GET", link.partition("#")[0]).status in (200, 302)


def test_versions_can_be_stepped_through(viewer: Viewer) -> None:
    last = viewer.get(f"/files?path={APP}&view=versions")
    assert "Version 3 of 3" in last.text
    assert "ONE" in last.text
    before = viewer.get(last.link("Previous"))
    assert "Version 2 of 3" in before.text
    assert "three" in before.text
    assert "uncertain" not in viewer.get(last.link("First")).text
    changed = viewer.get(before.link("Diff"))
    assert "two" in changed.text
    then = viewer.get(f"/files?path={APP}").link("file at this point")
    assert "Version 2 of 3" in viewer.get(then).text


@pytest.mark.parametrize("at", ["0", "99", "1999-01-01", "nowhere", "²", "9" * 50])
def test_a_version_that_is_not_there_is_an_error_with_a_next_step(viewer: Viewer, at: str) -> None:
    answer = viewer.ask("GET", f"/files?path={APP}&view=versions&at={at}")
    assert answer.status in (400, 404)
    assert 'class="hint"' in answer.text


def test_every_line_says_which_change_brought_it(viewer: Viewer) -> None:
    page = viewer.get(f"/files?path={APP}&view=lines&at=2")
    assert "make it three" in page.text
    assert "begin the app" in page.text
    assert page.text.index("begin the app") < page.text.index("one") < page.text.index("make it three")


def test_lines_stay_with_the_text_that_brought_them() -> None:
    assert origins(["a\nb\nc", "a\nx\nb\nc", "x\nb\nd"]) == [2, 1, 3]
    assert origins(["a\nb", None, "a\nb\nc"]) == [1, 1, 3]
    assert origins([None]) == []
    assert origins(["", "a"]) == [2]
    many = "\n".join(map(str, range(3000)))
    other = "\n".join(map(str, range(5000, 8000)))
    assert set(origins([many, other])) == {2}


def test_views_that_are_not_there_are_an_error(viewer: Viewer) -> None:
    assert "use one of" in viewer.get(f"/files?path={APP}&view=magic", 400).text


def test_a_file_on_the_disk_that_no_chat_knows_is_not_found(viewer: Viewer, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    for path in (secret, "../../../../etc/passwd", "/etc/passwd"):
        assert "canary" not in viewer.get(f"/files?path={path}", 404).text


def test_the_files_of_every_home_have_their_pages(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    viewer = Viewer(shelf)
    links = viewer.get("/files?limit=1000").hrefs("/files?path=")
    assert links
    for link in dict.fromkeys(links):
        assert viewer.get(link).all("h1")
        for view in ("versions", "lines"):
            answer = viewer.ask("GET", f"{link}&view={view}")
            assert answer.status in (200, 404), answer.text


def test_what_transcripts_say_of_files_is_only_ever_text(tmp_path: Path) -> None:
    rows = draw(
        """
        a <- - user: <script>alert(1)</script>
        b <- a call(m1) t1 Write {"file_path": "X", "content": "<script>alert(3)</script>"}
        c <- b result t1: ok {"toolUseResult": {"type": "create", "filePath": "X", "structuredPatch": []}}
        """,
        session="S1",
    )
    for block in (block for row in rows for block in row["message"]["content"] if isinstance(block, dict)):
        if block.get("type") == "tool_use":
            block["input"]["file_path"] = HOSTILE
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(rows)})
    shelf.update()
    viewer = Viewer(shelf)
    (link,) = dict.fromkeys(viewer.get("/files").hrefs("/files?path="))
    for view in ("changes", "versions", "lines"):
        answer = viewer.ask("GET", f"{link}&view={view}")
        assert answer.status == 200
        assert "<script>alert" not in answer.text
        assert "<svg onload" not in answer.text


def test_a_library_without_files_says_so(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: hello"))
    shelf.update()
    assert "No chat has read or changed a file." in Viewer(shelf).get("/files").text
