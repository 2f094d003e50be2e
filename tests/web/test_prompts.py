"""Saved prompts in the viewer, without scripts."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from backscroll.library.prompts.prompt import new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.web.shown import Page, Viewer

CHAT = """
@ cwd=/home/ada/shop time=2026-01-05T10:00
sh-a <- - user: Review the branch <main> & say {{why}}
sh-b <- sh-a assistant(sh-m): it looks good
"""
ADDRESS = f"/chats/{session_uuid('shop')}"
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'></textarea><svg onload=alert(3)>"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write(session_file("shop", CHAT))
    shelf.update()
    return shelf


@pytest.fixture
def viewer(shelf: Shelf) -> Viewer:
    return Viewer(shelf)


@pytest.fixture
def prompts(shelf: Shelf) -> PromptFile:
    return PromptFile(shelf.folder)


def fields(page: Page) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in page.all("input") if one.get("name") not in ("q", None)}


def test_a_page_without_prompts_says_how_to_save_one(viewer: Viewer) -> None:
    text = viewer.get("/prompts").text
    assert "No saved prompts yet." in text
    assert "save prompt" in text
    assert viewer.get("/").link("Prompts") == "/prompts"


def test_every_prompt_of_a_chat_can_be_saved_and_nothing_else(viewer: Viewer, prompts: PromptFile) -> None:
    link = viewer.get(ADDRESS).link("save prompt")
    assert link == f"{ADDRESS}/messages/sh-a/prompt"
    assert [one.href for one in viewer.get(ADDRESS).links if one.text == "save prompt"] == [link]
    form = viewer.get(link)
    assert "Review the branch <main> & say {{why}}" in form.text
    given = fields(form)
    assert (given["name"], given["chat"], given["message"]) == ("review-the-branch-main", session_uuid("shop"), "sh-a")
    where = viewer.post("/prompts", 303, **given | {"text": "Review {{branch}}", "tags": "git, Git,code"})
    assert where == "/prompts/review-the-branch-main"
    (saved,) = prompts.all()
    assert (saved.text, saved.tags, saved.source and saved.source.message) == (
        "Review {{branch}}",
        ["git", "code"],
        "sh-a",
    )
    assert viewer.get(where).link("from this message") == f"{ADDRESS}?at=sh-a#m-sh-a"
    viewer.get(f"{ADDRESS}/messages/sh-b/prompt", 404)
    viewer.get(f"{ADDRESS}/messages/none/prompt", 404)


def test_what_cannot_be_saved_comes_back_in_its_form(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("taken", "text"))
    for given, told in (
        ({"name": "taken", "text": "t"}, "there is a saved prompt taken already"),
        ({"name": "../x", "text": "t"}, "cannot be the name"),
        ({"name": "", "text": "t"}, "cannot be the name"),
        ({"name": "a", "text": " "}, "cannot be empty"),
        ({"name": "a", "text": "x" * 100_001}, "100,001 characters"),
    ):
        answer = viewer.ask("POST", "/prompts", _form(given | {"tags": "kept"}))
        assert answer.status == 400
        page = Page(answer.text)
        assert told in page.text
        assert fields(page)["tags"] == "kept"
    assert len(prompts.all()) == 1


def _form(given: dict[str, str]) -> bytes:
    return urlencode(given).encode()


def test_a_prompt_is_filled_in_without_scripts_and_counted(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("review", "Look at {{branch}} of {{größe}}; \\{{kept}}"))
    page = viewer.get("/prompts/review")
    assert [one["name"] for one in page.all("textarea") if one["name"] != "text"] == ["value-branch", "value-größe"]
    answer = viewer.ask(
        "POST", "/prompts/review", _form({"action": "fill", "value-branch": "<main>", "value-größe": "7"})
    )
    shown = answer.text.partition('id="prompt-text"')[2].partition(">")[2].partition("</pre>")[0]
    assert unescape(re.sub("<[^>]*>", "", shown)) == "Look at <main> of 7; {{kept}}"
    assert prompts.find("review").uses == 1
    answer = viewer.ask("POST", "/prompts/review", _form({"action": "fill", "value-branch": "dev"}))
    assert (answer.status, "no value for größe" in answer.text, "dev" in answer.text) == (400, True, True)
    assert prompts.find("review").uses == 1
    viewer.post("/prompts/review", 204, action="use")
    assert prompts.find("review").uses == 2


def test_prompts_are_listed_and_filtered(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", "look at the parser", tags=["Git"], description="first one"))
    prompts.add(new_prompt("b", "write {{post}}"))
    page = viewer.get("/prompts")
    assert page.hrefs("/prompts/") == ["/prompts/a", "/prompts/b"]
    assert "2 prompts" in page.text
    assert viewer.get("/prompts?q=LOOK parser").hrefs("/prompts/") == ["/prompts/a"]
    assert viewer.get(page.link("#Git")).hrefs("/prompts/") == ["/prompts/a"]
    assert "No saved prompt matches." in viewer.get("/prompts?q=nothing").text


def test_a_prompt_is_changed_and_deleted(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", "text"))
    prompts.add(new_prompt("b", "text"))
    changed = {"action": "change", "name": "z", "text": "other", "description": "about", "tags": "x,y"}
    assert viewer.post("/prompts/a", 303, **changed) == "/prompts/z"
    found = prompts.find("z")
    assert (found.text, found.description, found.tags) == ("other", "about", ["x", "y"])
    answer = viewer.ask("POST", "/prompts/z", _form(changed | {"name": "b", "text": "my edit"}))
    assert (answer.status, "already" in answer.text, "my edit" in answer.text) == (400, True, True)
    assert viewer.post("/prompts/z", 303, action="delete") == "/prompts"
    assert [one.name for one in prompts.all()] == ["b"]
    for action in ("delete", "use", "fill", "change"):
        viewer.post("/prompts/z", 404, action=action)
    viewer.post("/prompts/b", 400, action="explode")
    viewer.post("/prompts/b", 400, action="share", audience="org")  # there is no one else here
    viewer.get("/prompts/z", 404)


def test_the_slash_command_can_be_downloaded(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", "explain {{file}}"))
    answer = viewer.ask("GET", "/prompts/a/command")
    assert answer.headers["content-disposition"] == 'attachment; filename="a.md"'
    assert answer.text.endswith("explain $ARGUMENTS\n")
    viewer.get("/prompts/b/command", 404)


def test_prompts_are_exported_and_imported(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", "text {{x}}"))
    prompts.add(new_prompt("b", "other"))
    answer = viewer.ask("GET", "/prompts.json")
    assert answer.headers["content-disposition"] == 'attachment; filename="prompts.json"'
    prompts.remove("a")
    page = Page(viewer.ask("POST", "/prompts.json", _form({"file": answer.text})).text)
    assert "Added 1 prompt. Left out, because there is one of this name: b." in page.text
    assert prompts.find("a").text == "text {{x}}"
    for content in ("", "{", '{"prompts": [{"name": "../x", "text": "t"}]}'):
        viewer.post("/prompts.json", 400, file=content)


def test_a_secret_in_a_prompt_is_pointed_out(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", f"deploy with ghp_{'a1B2' * 9}"))
    prompts.add(new_prompt("b", "deploy with {{token}}"))
    assert "seems to contain a secret" in viewer.get("/prompts/a").text
    assert "seems to contain a secret" not in viewer.get("/prompts/b").text


def test_nothing_in_a_prompt_breaks_out(viewer: Viewer, prompts: PromptFile) -> None:
    prompts.add(new_prompt("a", f"{HOSTILE} {{{{x}}}}", description=HOSTILE, tags=[HOSTILE[:40]]))
    for path in ("/prompts", "/prompts/a", f"/prompts?q={'a'}&tag=x"):
        page = viewer.get(path)
        assert not page.all("svg", "") or all("onload" not in one for one in page.all("svg"))
        assert all(one["src"].startswith("/static/") for one in page.all("script"))
        assert not page.all("img")
