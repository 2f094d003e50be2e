"""Everything that a library answers, in its order: what two libraries of the same data must agree on, to the letter.

Left out is only what names a library itself: its numbers for chats and passages, and what it calls its machine.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from backscroll.library.analytics.report_kinds import KINDS, report_of
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import CHAT_SORTS, Library
from backscroll.library.searching.search import FoundChat
from backscroll.render.chats import agent_as_json, branch_as_json, sessions_as_json

PAGE: Final = 7
OF_NOW: Final = frozenset({"forecast"})
"""What a report says of the moment at which it is asked for."""
MOST: Final = 400
QUERIES: Final = (
    "error", "file", "test", "the", "the file", "fix the bug", "error in the test", "import", "class", "git commit",
    "what did we do about the tests", "+file test", "file -test", '"the file"', "(bash OR edit) role:input",
    "tool:bash", "is:error", "is:agent read", "role:title a", "role:prompt", "after:2020-01-01 file", "fil*", "tets",
    "checkout done", "conf", "python function return", "look around", "one two", "shop",
)  # fmt: skip


def everything(library: Library, queries: Iterable[str] = QUERIES) -> dict[str, Any]:
    """The answers by question."""
    answers: dict[str, Any] = {}
    chats = library.chats()
    for sort in CHAT_SORTS:
        listed = library.chats(sort=sort)
        answers[f"list by {sort}"] = [
            (msgspec.to_builtins(chat.overview), chat.archived, chat.tokens, chat.cost) for chat in listed
        ]
    answers["totals"] = library.totals()
    for stored in chats:
        chat = library.open(stored, with_records=False).chat
        answers[f"tree {chat.id}"] = (
            [*sessions_as_json(chat)],
            [branch_as_json(branch) for branch in chat.branches],
            [agent_as_json(agent) for agent in chat.agents],
        )
    for query in queries:
        for sort in ("relevance", "newest", "oldest"):
            whole = library.search(query, sort=sort, limit=MOST, hits=5)
            answers[f"search {query} by {sort}"] = [_found(chat) for chat in whole.chats]
            answers[f"search {query} by {sort}: sums"] = (whole.total, whole.total_chats, whole.corrections)
        pages = [library.search(query, limit=PAGE, offset=at, hits=2).chats for at in (0, PAGE, 2 * PAGE)]
        answers[f"pages of {query}"] = [chat.chat.overview.id for page in pages for chat in page]
        facets = library.facets(library.parse(query), {})
        answers[f"facets of {query}"] = (
            facets.total, dict(facets.roles), dict(facets.tools), dict(facets.projects), dict(facets.models)
        )  # fmt: skip
    for name, kind in KINDS.items():
        for by in kind.by or ("",):
            if by == "machine" or (name, by) == ("context", "turn"):
                continue
            report = report_of(library, name, ReportRequest(), by, 1000)
            facts = {fact: value for fact, value in report.facts.items() if fact not in OF_NOW}
            answers[f"stats {name} {by}"] = (report.columns, report.rows, facts, report.notes)
    return answers


def _found(found: FoundChat) -> tuple[Any, ...]:
    hits = [
        (hit.role, hit.uuid, hit.message, hit.session, hit.agent, hit.number, hit.kind, hit.time, hit.tool,
         hit.is_error, hit.is_abandoned, hit.title, passage.snippet.text)
        for passage in found.passages
        for hit in (passage.hit,)
    ]  # fmt: skip
    return found.chat.overview.id, found.found, found.score, hits


def unequal(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The questions that are answered differently."""
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


def first_difference(one: Any, other: Any, at: str = "") -> Iterator[str]:  # noqa: ANN401 - any answers
    """Where two answers differ, in words."""
    if one == other:
        return
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                yield from first_difference(left, right, f"{at}[{number}]")
                return
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys(), key=str):
            if one.get(name) != other.get(name):
                yield from first_difference(one.get(name), other.get(name), f"{at}.{name}")
                return
    yield f"{at}: {one!r:.300} | {other!r:.300}"
