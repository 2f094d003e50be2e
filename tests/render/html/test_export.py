"""The exported page: its contents, and that nothing else can be loaded."""

import base64
import html
import json
import re
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.headings import AnswerCost
from backscroll.conversation.messages import Message, messages_of
from backscroll.conversation.messages import results_of as results
from backscroll.conversation.overview import Overview, overview_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.conversation.tree import walk
from backscroll.records.decode import Problem, decode_all
from backscroll.render.html.export import Assets, Format, checksum, exported
from backscroll.render.html.export_branches import outlines_of, segments_of, turn_of
from backscroll.render.html.export_site import exported_chat, index_page
from backscroll.render.html.page_data import Detail
from backscroll.web.export_assets import export_assets
from tests.conversation.test_incremental import Author
from tests.support.drawings import draw, jsonl, session_uuid

BRANCHES = """
a <- - user: fix the parser
b <- a assistant: fixed one
c <- b user: and now the lexer
d <- c assistant: fixed two
e <- b user: no, the printer
f <- e assistant: fixed three
g <- a user: never mind
h <- g assistant: fixed four
"""
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89").decode()


class Opened:
    """A chat to be exported, without a library."""

    is_archived = is_pinned = False
    is_redacted = True
    unrecorded = 0, None
    tags: Sequence[str] = ("mine",)
    clock = staticmethod(lambda: 0.0)

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.title = chat.title
        self.answer_costs: dict[str, AnswerCost] = {}
        self._results = results(node.row for node in chat.tree.nodes.values())

    @cached_property
    def overview(self) -> Overview:
        return overview_of(self.chat)

    def messages(self, branch: Branch) -> list[Message]:
        return [message for turn in branch.turns for message in messages_of(turn, self._results)]

    def agent_messages(self, agent: Agent) -> list[Message]:
        return [one for turn in walk(agent.tree.roots) for one in messages_of(turn, results(agent.rows))]


def opened(drawing: str, agents: str = "") -> Opened:
    chats = ChatBuilder(keep=True)
    for name, text in (("S1", drawing), ("a1", agents)):
        if text:
            place = TranscriptPlace(f"{name}.jsonl", session_uuid("S1"), "a1" if name == "a1" else None)
            items = [item for line in jsonl(draw(text)).splitlines() for item in decode_all(line)]
            chats.add(place, [item for item in items if not isinstance(item, Problem)])
    return Opened(chats.chats()[0])


def made(chat: Opened, form: Format = "html", detail: Detail | None = None) -> str:
    return "".join(exported(chat, form, export_assets(), detail=detail))


def on_branch(page: str, number: int) -> list[str]:
    """The ids of the messages that are seen while a branch is read, in their order."""
    sections = [part.split('">', 1) for part in page.split('<section class="segment" data-branches="')[1:]]
    seen = [body for branches, body in sections if str(number) in branches.split()]
    return re.findall(r'<article [^>]*id="m-([^"]+)"', "".join(seen))


def test_every_branch_is_in_the_file_and_what_they_share_is_there_once() -> None:
    chat = opened(BRANCHES)
    assert len(chat.chat.branches) == 3
    page = made(chat)
    ids = re.findall(r'<article [^>]*id="m-([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))
    by_end = {(seen := on_branch(page, number))[-1]: seen for number in (1, 2, 3)}
    assert by_end == {
        "h": ["a", "g", "h"],
        "d": ["a", "b", "c", "d"],
        "f": ["a", "b", "e", "f"],
    }


@st.composite
def worlds(draw_: st.DrawFn) -> list[Chat]:
    chats = ChatBuilder(keep=True)
    for place, rows in Author(draw_).write_world().items():
        items = [item for line in jsonl(rows).splitlines() for item in decode_all(line)]
        chats.add(place, [item for item in items if not isinstance(item, Problem)])
    return chats.chats()


@given(worlds())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_branch_reads_in_the_file_as_it_does_in_the_chat(chats: list[Chat]) -> None:
    for chat in chats:
        check_branches(chat)
        page = made(Opened(chat))
        ids = re.findall(r'<article [^>]*id="m-([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids))


def check_branches(chat: Chat) -> None:
    told = Opened(chat)
    messages = {branch.number: told.messages(branch) for branch in chat.branches}
    segments = segments_of(chat, messages)
    for branch in chat.branches:
        path = set(branch.leaf.path())
        seen = [message for segment in segments if branch.number in segment.branches for message in segment.messages]
        assert set(map(id, messages[branch.number])) <= set(map(id, seen))
        turns = [turn for message in seen if (turn := turn_of(chat, message)) in path]
        assert list(dict.fromkeys(turns)) == [turn for turn in branch.leaf.path() if turn in set(turns)]


def test_where_the_user_went_back_the_ways_are_shown() -> None:
    page = made(opened(BRANCHES))
    assert page.count('<nav class="fork"') == page.count("You rewound here") == 4
    assert re.search(r'href="\?branch=\d#m-e"', page)


def test_without_branches_there_is_nothing_to_choose() -> None:
    page = made(opened("a <- - user: hi\nb <- a assistant: hello"))
    assert 'id="branch"' not in page
    assert '<nav class="fork"' not in page


def test_the_policy_allows_only_what_is_in_the_page() -> None:
    page = made(opened(BRANCHES))
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    styles, scripts = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    digest = [f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" for text in (*styles, *scripts)]
    assert rules == {
        "default-src": "'none'", "style-src": " ".join(digest[: len(styles)]), "script-src": digest[-1],
        "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip
    assert len(scripts) == 1
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_style_and_script_cannot_end_themselves() -> None:
    assets = export_assets()
    for text in (assets.style, assets.script):
        assert not re.search(r"</(style|script)|<!--", text, re.IGNORECASE)
        assert "\r" not in text
    assert checksum("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"


def test_agents_are_shown_at_their_calls_and_the_others_at_the_end() -> None:
    drawing = """
    a <- - user: look
    b <- a call(m1) t1 Task {"description": "look", "prompt": "find it", "subagent_type": "Explore"}
    c <- b result t1: found {"toolUseResult": {"agentId": "a1", "status": "completed"}}
    d <- c assistant(m2): done
    """
    agent = "@ agent=a1\ns <- - user: find it\nt <- s assistant(n1): found it"
    page = made(opened(drawing, agent))
    assert page.index('id="t-t1"') < page.index('id="m-t"') < page.index('id="m-d"')
    assert page.count('id="m-t"') == 1
    lost = made(opened(drawing.replace("find it", "other").replace('"agentId": "a1", ', ""), agent))
    assert lost.index('id="m-d"') < lost.index("Other agents") < lost.index('id="m-t"')
    assert 'id="m-t"' not in made(opened(drawing, agent), detail="talk")


def test_images_are_embedded_if_they_are_images() -> None:
    def shown(data: str) -> str:
        block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        return made(opened(f"a <- - user: {json.dumps([block])}\nb <- a assistant: nice"))

    assert f'src="data:image/png;base64,{PICTURE}"' in shown(PICTURE)
    for other in (base64.b64encode(b"<svg onload=alert(1)>").decode(), "no base64!", ""):
        assert "<img" not in shown(other)


@pytest.mark.parametrize(
    ("detail", "has", "has_not"),
    [
        ("everything", ["ls -l", "reminded", "fix it", "done"], []),
        ("normal", ["ls -l", "fix it", "done"], ["reminded"]),
        ("talk", ["fix it", "done"], ["ls -l", "reminded", "thought"]),
    ],
)
def test_a_file_holds_no_more_than_was_asked_for(detail: Detail, has: list[str], has_not: list[str]) -> None:
    chat = opened(
        """
        a <- - user: fix it
        x <- a meta: reminded
        b <- x thinking(m1): thought
        c <- b call(m1) t1 Bash {"command": "ls -l"}
        d <- c result t1: files
        e <- d assistant(m2): done
        """
    )
    page = made(chat, detail=detail)
    assert [word for word in has if word not in page] == []
    assert [word for word in has_not if word in page] == []
    document = made(chat, "md", detail)
    assert [word for word in has_not if word in document] == []
    assert ("ls -l" in document) == (detail != "talk")


def test_markdown_begins_with_what_the_chat_is() -> None:
    document = made(opened(BRANCHES + "custom-title: The parser"), "md")
    assert document.startswith("# The parser\n\n- Project: /home/ada/shop\n- When: 2026-01-05T10:00:00.000Z – ")
    assert document.count("The parser") == 1


def test_json_is_all_of_it() -> None:
    told = json.loads(made(opened(BRANCHES), "json"))
    assert set(told) == {"chat", "branches", "messages", "agents"}
    assert len(told["messages"]) == 8
    assert told["chat"]["tags"] == ["mine"]


def test_the_outline_has_the_prompts_and_what_came_of_them() -> None:
    chat = opened(BRANCHES)
    messages = {branch.number: chat.messages(branch) for branch in chat.chat.branches}
    outlines = outlines_of(messages, {}, ())
    items = [item for items in outlines.values() for item in items]
    assert {item.text for item in items} >= {"fix the parser", "and now the lexer", "no, the printer", "never mind"}
    assert {number: sum(item.messages for item in items) for number, items in outlines.items()} == {
        number: len(some) for number, some in messages.items()
    }


class Handlers(HTMLParser):
    """Every attribute that would run something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name == "style"]


def handlers(page: str) -> list[str]:
    parser = Handlers()
    parser.feed(page)
    return parser.found


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'><!-- \u202e\u2028"


def test_a_list_of_chats_shows_and_finds_them_by_what_was_asked() -> None:
    chat = opened(f"a <- - user: {json.dumps('find me ' + HOSTILE)}\nb <- a assistant: ok\ncustom-title: T {HOSTILE}")
    entry = exported_chat("2026-01.html", chat, chat.overview)
    page = "".join(index_page([entry, entry], Assets("body {}", "0"), title=f"all {HOSTILE}", is_redacted=False))
    assert page.count('href="./2026-01.html"') == 2
    assert "2 chats" in page
    assert "Secrets are not masked" in page
    assert page.count("<script") == 2
    data = re.search(r'id="chats-data">(.*?)</script>', page, re.DOTALL)[1]  # type: ignore[index]
    assert [one["prompts"][0].startswith("find me") for one in json.loads(data)] == [True, True]
    assert handlers(page) == []


def test_nothing_hostile_becomes_markup() -> None:
    drawing = f"""
    a <- - user: {json.dumps(HOSTILE)}
    b <- a call(m1) t1 Bash {json.dumps({"command": HOSTILE, "description": HOSTILE})}
    c <- b result t1: {json.dumps(HOSTILE)}
    d <- c assistant(m2): {json.dumps(HOSTILE)}
    e <- a user: {json.dumps(HOSTILE)}
    custom-title: {HOSTILE}
    """
    page = made(opened(drawing))
    assert page.count("<script") == 1
    assert "<img" not in page
    assert handlers(page) == []
