"""Only the selected part of a chat goes into the file: branches, tools and thinking, secrets and names."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from backscroll.errors import NothingFound
from backscroll.library.library import Library
from backscroll.library.sharing.file_names import file_name, title_words
from backscroll.library.sharing.masked import masked_in, masked_message, masked_rows
from backscroll.library.sharing.selection import ShareSelection, selected
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.export import Assets, Format, exported
from backscroll.render.markdown import markdown
from backscroll.render.parts import PartFilter, parts_of
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

ASSETS = Assets(style="body {}", script="0")
TOKEN, OTHER = "ghp_" + "a1B2" * 9, "ghp_" + "c3D4" * 9
CHAT = f"""
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: fix the parser
b <- a thinking(m1): perhaps-thought
c <- b call(m1) t1 Bash {{"command": "echo ran-a-tool {TOKEN}"}}
d <- c result t1: tool-said-this
e <- d assistant(m2): fixed-it
f <- e user: make it blue
g <- f call(m3) t2 Edit {{"file_path": "/home/ada/shop/blue.py", "old_string": "1", "new_string": "2"}}
h <- g result t2: done
i <- h assistant(m4): it-is-blue {OTHER}
@ time=2026-01-05T11:00
j <- e user: make it red
k <- j call(m5) t3 Task {{"description": "look", "prompt": "find it", "subagent_type": "Explore"}}
l <- k result t3: found {{"toolUseResult": {{"agentId": "a1", "status": "completed"}}}}
m <- l assistant(m6): it-is-red {TOKEN}
custom-title: Colours of {TOKEN}
"""
AGENT = """
@ session=S1 cwd=/home/ada/shop agent=a1 time=2026-01-05T11:00:10
s <- - user: find it
t <- s assistant(n1): agent-found-it
"""
RED, BLUE = 1, 2


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    folder = session_path("S1").removesuffix(".jsonl")
    files = {
        session_path("S1"): jsonl(draw(CHAT)),
        f"{folder}/subagents/agent-a1.jsonl": jsonl(draw(AGENT)),
        f"{folder}/subagents/agent-a1.meta.json": json.dumps({"agentType": "Explore", "toolUseId": "t3"}).encode(),
    }
    with Shelf(tmp_path).write(files).open() as library:
        library.update()
        yield library


def check(library: Library, form: Format, selection: ShareSelection, *, has: str, lacks: str) -> None:
    shared = selected(share(library, session_uuid("S1"), redactor()), selection)
    choice = PartFilter(tools="full" if selection.tools else "none", thinking=selection.thinking)
    text = "".join(exported(shared, form, ASSETS, branch=None, choice=choice))
    assert [word for word in has.split() if word not in text] == []
    assert [word for word in lacks.split() if word in text] == []
    assert TOKEN not in text
    assert OTHER not in text


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_a_file_has_the_chosen_branch_from_the_start_of_the_chat(library: Library, form: Format) -> None:
    both = "perhaps-thought tool-said-this fixed-it"
    check(library, form, ShareSelection(), has=f"{both} it-is-blue it-is-red", lacks="")
    check(library, form, ShareSelection(branch=RED), has=f"{both} it-is-red", lacks="blue")
    check(library, form, ShareSelection(branch=BLUE), has=f"{both} it-is-blue", lacks="it-is-red agent-found-it")


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_tools_and_thinking_can_be_left_out(library: Library, form: Format) -> None:
    said = "fixed-it it-is-blue it-is-red"
    tools = "ran-a-tool tool-said-this blue.py agent-found-it"
    check(library, form, ShareSelection(tools=False), has=f"{said} perhaps-thought", lacks=tools)
    check(library, form, ShareSelection(thinking=False), has=f"{said} ran-a-tool", lacks="perhaps-thought")
    nothing_but_talk = ShareSelection(tools=False, thinking=False)
    check(library, form, nothing_but_talk, has=said, lacks=f"{tools} perhaps-thought")


def test_a_branch_that_does_not_exist_is_an_error(library: Library) -> None:
    with pytest.raises(NothingFound, match="no branch 3"):
        selected(share(library, session_uuid("S1"), redactor()), ShareSelection(branch=3))


def test_masked_secrets_are_counted_in_the_selection(library: Library) -> None:
    def masked(selection: ShareSelection) -> list[tuple[str, str, int, int]]:
        stored = library.find(session_uuid("S1"))
        found = masked_in(library, stored, selection, redactor())
        return [(one.kind, one.begins, one.length, len(one.messages)) for one in found]

    token, other = ("github-token", TOKEN[:4], len(TOKEN)), ("github-token", OTHER[:4], len(OTHER))
    assert masked(ShareSelection()) == [(*token, 2), (*other, 1)]
    assert masked(ShareSelection(branch=RED)) == [(*token, 2)]
    assert masked(ShareSelection(branch=BLUE)) == [(*token, 1), (*other, 1)]
    assert masked(ShareSelection(branch=BLUE, tools=False)) == [(*token, 0), (*other, 1)]  # it is in the title
    assert [one.mask for one in masked_rows(library, library.find(session_uuid("S1")), redactor())] == [
        "[redacted: github-token]", "[redacted: github-token 2]",
    ]  # fmt: skip


def test_a_message_is_masked_with_its_calls_and_results(library: Library) -> None:
    opened = library.open(session_uuid("S1"))
    messages = [message for branch in opened.chat.branches for message in opened.messages(branch)]
    everything = PartFilter(tools="full", thinking=True, everything=True)
    plain = "".join(markdown(parts_of(messages, everything)))
    hiding = redactor()
    masked = "".join(markdown(parts_of([masked_message(message, hiding) for message in messages], everything)))
    assert TOKEN in plain
    assert masked == plain.replace(TOKEN, "[redacted: github-token]").replace(OTHER, "[redacted: github-token 2]")


def test_a_file_is_named_after_its_day_and_its_title(library: Library) -> None:
    chat = library.find(session_uuid("S1")).overview
    assert file_name(chat, "html") == "2026-01-05 colours-of-redacted-github-token.html"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the parser", "fix-the-parser"),
        ("Don't touch ../../etc/passwd: it's *mine*?", "dont-touch-etc-passwd-its-mine"),
        ("Größe ändern 日本語", "größe-ändern-日本語"),
        ("a" * 100, "a" * 60),
        ("words " * 30, "-".join(["words"] * 10)),
        ("…", ""),
        ("x" * 150 + f" {TOKEN} " + TOKEN, "x" * 60),
        ("use " + "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi" + "a" * 300, "use"),
    ],
)
def test_a_title_becomes_a_name_that_is_valid_everywhere(title: str, name: str) -> None:
    assert title_words(title[:200]) == name


def test_the_first_day_of_all_is_a_name_too(library: Library) -> None:
    chat = structs.replace(library.find(session_uuid("S1")).overview, started=datetime.min.replace(tzinfo=UTC))
    assert file_name(chat, "md").startswith("0001-01-01 ")
