"""The page of a chat: its facts, its navigation, and that it can be read without scripts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.conversation.chat import Chat
from backscroll.conversation.overview import overview_of
from backscroll.render.html.chat import agent_page, chat_page, state_line
from backscroll.render.html.element import Html, el
from backscroll.render.html.outline import MAX_BARS, gauge, minimap, outline_list
from backscroll.render.html.page_data import ChatPageData, MessageChunk, OutlineItem
from tests.conversation.support import one_chat
from tests.render.html.page_support import Addresses, Element, page

TALK = """
a <- - user: fix the parser
b <- a assistant(m1): done
"""
REWOUND = (
    TALK
    + """
c <- b user: now the tests
d <- c assistant(m2): they pass
e <- b user: rather the docs
f <- e assistant(m3): written
g <- f user: in French
h <- g assistant(m4): écrit
"""
)
WITH_AGENT = {
    "S1": TALK
    + 'c <- b call t1 Task {"description": "Look around", "prompt": "find it", "subagent_type": "Explore"}\n'
    + 'd <- c result t1: there {"toolUseResult": {"agentId": "x1"}}\n',
    "S1/x1": "x <- - user: find it\ny <- x assistant(n1): there\n",
}


def item(name: str, kind: str = "prompt", **more: Any) -> OutlineItem:  # noqa: ANN401 - any of its fields
    return OutlineItem(name, kind, more.pop("text", f"prompt {name}"), None, more.pop("chunk", 0), **more)


def shown_of(chat: Chat, **more: Any) -> ChatPageData:  # noqa: ANN401 - any of its fields
    overview = overview_of(chat)
    given: dict[str, Any] = {
        "branch": 1,
        "outline": [item("a")],
        "chunks": [MessageChunk(0, "a", 2)],
        "filled": {0: el("article", "hello", id="m-a")},
    }
    return ChatPageData(
        overview=overview, title=overview.title, branches=chat.branches, agents=chat.agents, links=Addresses(),
        **given | more,
    )  # fmt: skip


def read(**more: Any) -> Element:  # noqa: ANN401 - any of its fields
    return page(chat_page(shown_of(one_chat(TALK), **more)))


def named(element: Element, name: str) -> Element:
    (found,) = [one for one in element if one.attributes.get("id") == name]
    return found


def links(element: Element) -> list[str]:
    return [one.attributes.get("href") or "" for one in element.all("a")]


def words(element: Element) -> str:
    return " ".join(element.text.split())


def test_the_head_says_what_a_chat_is() -> None:
    shown = read(tokens=12_345_678, cost=4_560_000_000, is_live=True, is_archived=True)
    assert words(named(shown, "chat-title")) == "fix the parser"
    assert words(shown.one("span.badges")) == "live archived pinned"
    facts = words(shown.one("p.chat-facts"))
    for fact in ("shop", "2026-01-05 10:00", "2 messages", "$4.56"):
        assert fact in facts
    titles = {one.attributes.get("title") for one in shown.one("p.chat-facts")}
    assert {"/home/ada/shop", "12.3M tokens"} <= titles


def test_badges_that_do_not_apply_are_hidden() -> None:
    shown = read()
    assert {"live-badge", "pinned-badge"} == {
        one.attributes["id"] for one in shown.all("span.badge") if "hidden" in one.attributes
    }
    assert "hidden" not in named(read(is_pinned=True), "pinned-badge").attributes


def test_without_prices_no_cost_is_shown() -> None:
    assert "$" not in words(read(cost=None).one("p.chat-facts"))


def test_a_chunk_that_is_not_loaded_is_a_link_to_its_messages() -> None:
    chunks = [MessageChunk(0, "a", 100), MessageChunk(1, "n x", 100), MessageChunk(2, "z", 7)]
    shown = read(chunks=chunks, branch=3)
    sections = shown.all("section.chunk")
    assert [section.attributes["data-chunk"] for section in sections] == ["0", "1", "2"]
    assert "filled" in sections[0].classes
    assert [words(section) for section in sections] == ["hello", "Messages 101–200", "Messages 201–207"]
    address = shown.one("div.chat").attributes["data-address"]
    assert links(sections[1]) == [f"{address}?branch=3&at=n%20x#m-n%20x"]


def test_the_outline_leads_into_the_page_or_to_where_the_message_is() -> None:
    outline = outline_list([item("a"), item("b c", chunk=4)], "/chats/x?branch=1", [0])
    assert links(page(outline)) == ["#m-a", "/chats/x?branch=1&at=b%20c#m-b%20c"]


def test_the_outline_shows_the_cost_and_errors_of_a_turn() -> None:
    line = page(outline_list([item("a", cost=1_230_000_000, calls=14, errors=1)], "/x?"))
    assert [one.text for one in line.one("span.outline-facts").all("span")] == ["$1.23", "14 calls", "1 error"]
    assert page(outline_list([item("a")], "/x?")).all("span.outline-facts") == []


def test_long_prompts_are_one_short_line() -> None:
    (line,) = page(outline_list([item("a", text="word\n" * 9000)], "/x?")).all("span.outline-text")
    assert line.text.startswith("word word")
    assert len(line.text) == 110


@pytest.mark.parametrize("text", ["<b onclick=x>", '"><script>', "a\u202eb\x1b]0;x\x07", ""])
def test_what_was_typed_is_text(text: str) -> None:
    for found in (page(outline_list([item(text or "x", text=text)], "/x?")), page(minimap([item("a", text=text)] * 2))):
        assert {one.name for one in found} <= {
            "page",
            "ol",
            "li",
            "a",
            "span",
            "figure",
            "figcaption",
            "svg",
            "g",
            "title",
            "rect",
        }
        assert not set(found.text) & set("\u202e\x1b\x07")


def bars(items: Sequence[OutlineItem]) -> list[float]:
    return [float(one.attributes["height"] or 0) for one in page(minimap(items)).all("rect.turn")]


def test_bars_are_as_high_as_turns_cost() -> None:
    low, high, none = bars([item("a", cost=100), item("b", cost=200), item("c", cost=0)])
    assert high == pytest.approx(2 * low)
    assert 0 < none < low


def test_without_prices_bars_are_as_high_as_turns_are_long() -> None:
    low, high = bars([item("a", messages=10), item("b", messages=20)])
    assert high == pytest.approx(2 * low)


def test_the_minimap_marks_errors_and_compactions() -> None:
    shown = page(minimap([item("a", errors=2), item("k", "compaction"), item("b")]))
    assert len(shown.all("rect.turn-error")) == 1
    assert len(shown.all("line.compaction")) == 1
    assert shown.one("svg").attributes["aria-label"] == "Messages of each of 2 turns, with 2 errors"


def test_a_single_turn_needs_no_map() -> None:
    assert minimap([item("a")]) == ""
    assert minimap([]) == ""


@given(st.integers(2, 5000))
def test_thousands_of_turns_are_drawn_together(count: int) -> None:
    items = [item(str(number), cost=1, errors=number % 2) for number in range(count)]
    shown = page(minimap(items))
    assert 2 <= len(shown.all("g")) <= MAX_BARS
    assert page(gauge([replace(one, context=5) for one in items])).one("polyline").attributes["points"]


def test_the_gauge_shows_how_full_the_context_is() -> None:
    items = [item("a", context=50_000), item("k", "compaction"), item("b", context=20_000, model="claude-opus-4-5")]
    shown = page(gauge(items))
    assert "20.0k of 200k tokens · 10 %" in shown.text
    assert shown.one("meter").attributes["value"] == "20000"
    assert len(shown.all("line.compaction")) == 1


def test_a_context_that_is_larger_than_the_usual_one_was_the_large_one() -> None:
    shown = page(gauge([item("a", context=500_000), item("b", context=100_000)]))
    assert "100k of 1.0M tokens · 10 %" in shown.text


def test_where_the_window_may_be_the_one_or_the_other_the_tokens_stand_alone() -> None:
    items = [item("a", context=50_000), item("b", context=20_000, model="claude-sonnet-4-5-20250929")]
    shown = page(gauge(items, "/chats/x/context"))
    assert "Context 20.0k tokens" in shown.text
    assert " of " not in shown.text
    assert not shown.all("meter")
    compacted = [item("a", context=167_000), item("k", "compaction"), items[1]]
    assert "20.0k of 200k tokens" in page(gauge(compacted)).text


def test_where_no_context_is_known_there_is_no_gauge() -> None:
    assert gauge([item("a"), item("b")]) == ""


def test_the_tree_shows_branches_below_those_that_they_left() -> None:
    chat = one_chat(REWOUND)
    assert len(chat.branches) == 2
    shown = page(chat_page(shown_of(chat, branch=2)))
    tree = shown.one("details.tree")
    assert "2 branches" in tree.one("summary").text
    here = [one for one in tree.all("a") if one.attributes.get("aria-current")]
    assert [one.attributes["href"] for one in here] == [f"/chats/{chat.id}?branch=2"]
    assert links(tree.all("ul")[1]) == [f"/chats/{chat.id}?branch=2"]


def test_the_tree_shows_agents_and_leads_to_them() -> None:
    tree = page(chat_page(shown_of(one_chat(WITH_AGENT)))).one("details.tree")
    assert tree.one("summary").text == "1 agent"
    assert links(tree) == ["/agents/x1"]
    assert "Look around" in tree.text


def test_a_simple_chat_has_no_tree() -> None:
    assert read().all("details.tree") == []


def test_marks_are_forms_that_work_without_a_script() -> None:
    shown = read(tags=["parser"], notes=["look again"], is_pinned=True)
    forms = [one for one in shown.all("form") if "data-mark" in one.attributes]
    assert {one.attributes["action"] for one in forms} == {f"{shown.one('div.chat').attributes['data-address']}/marks"}
    assert {one.attributes["method"] for one in forms} == {"post"}
    pin = named(shown, "pin")
    assert (pin.attributes["name"], pin.attributes["value"], pin.text) == ("pin", "0", "Unpin")
    assert "parser" in shown.text
    assert "look again" in shown.text


def test_what_needs_a_script_is_hidden_until_there_is_one() -> None:
    shown = read(resume="claude --resume x")
    actions = [one for one in shown if "data-action" in one.attributes]
    assert {one.attributes["data-action"] for one in actions} == {"copy-markdown", "pane"}
    for one in [*actions, named(shown, "levels"), named(shown, "find-form"), named(shown, "pill")]:
        assert "hidden" in one.attributes


@pytest.mark.parametrize("name", ["resume", "share"])
def test_what_opens_as_a_dialog_is_a_link_to_a_page(name: str) -> None:
    link = named(read(resume=None), name)
    assert link.attributes["data-dialog"] == name
    assert f"/{name}?branch=" in (link.attributes["href"] or "")


@pytest.mark.parametrize(
    ("state", "is_live", "told"),
    [
        ("working", True, "Claude is working"),
        ("waiting", True, "Waiting for you"),
        ("working", False, "End of the chat"),
    ],
)
def test_the_end_shows_the_state_of_the_chat(state: str, is_live: bool, told: str) -> None:
    assert page(state_line(state, is_live=is_live)).text == told


def test_a_permission_that_is_waited_for_names_its_tool() -> None:
    assert page(state_line("permission", "Write", is_live=True)).text == "Waiting for your permission: Write"
    assert page(state_line("permission", "Write", is_live=False)).text == "End of the chat"


def test_every_control_has_a_name() -> None:
    shown = read(tags=["x"], resume="claude")
    for one in shown:
        if one.name == "button" and one.attributes.get("id") != "pill":
            assert one.text.strip() or one.attributes.get("aria-label")
        if one.name == "input" and one.attributes["type"] not in ("hidden", "radio"):
            assert one.attributes["aria-label"]


def test_only_links_to_the_web_lead_out() -> None:
    chat = one_chat(TALK + "pr-link 12 javascript:alert(1)\npr-link 13 https://github.com/a/b/pull/13\n")
    facts = page(chat_page(shown_of(chat))).one("p.chat-facts")
    assert [address for address in links(facts) if not address.startswith("/")] == ["https://github.com/a/b/pull/13"]


def test_an_agents_page_leads_back_to_its_call() -> None:
    (agent,) = one_chat(WITH_AGENT).agents
    shown = page(agent_page(agent, Html("<article>there</article>"), "Fix it", "/chats/c#m-b"))
    assert links(shown) == ["/chats/c#m-b"]
    assert shown.one("h1").text == "Look around"
    assert "Explore" in shown.one("p.chat-facts").text
    assert named(shown, "messages").text == "there"
