"""Earlier errors and their solutions: the steps until a retry succeeded.

Errors are compared by their signatures: their text without paths, numbers and names. A retry is a call on the same
file, or the same kind of command.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.conversation.messages import CallState
from backscroll.conversation.passages import Role
from backscroll.conversation.signatures import command_kind, signature_of
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.library.memory.questions import terms_of
from backscroll.library.memory.surroundings import Aftermath, Attempt, courses
from backscroll.library.searching.search import text_of
from backscroll.query.tree import All, Either, Field, Part, Query, Word
from backscroll.records.content import ToolUse
from backscroll.records.decode import value_of
from backscroll.records.tools import FILE_TOOLS, SHELL_TOOLS
from backscroll.store.reader import Hit, StoredChat

LIKE: Final = 0.5
"""The share of common words from which two signatures are similar."""


class ErrorMatch(NamedTuple):
    """A similar error in a chat."""

    hit: Hit
    chat: StoredChat
    text: str
    signature: str
    likeness: float
    """1 if the signatures are the same."""


class Resolution(NamedTuple):
    """The steps after an error."""

    is_solved: bool | None
    """Whether a retry succeeded; None if there was no retry."""
    steps: list[tuple[str, Attempt]]
    """The steps until then, each with its kind: edit, command, call, worked or answer."""


def errors_like(
    library: Library, texts: Texts, text: str, without: set[str], fields: Sequence[Part] = ()
) -> tuple[str, list[ErrorMatch]]:
    """Return the signature of a text, and similar errors, the most similar and latest first."""
    signature = plain_signature(text)
    telling = PLACES.sub(" ", signature)
    words = list(dict.fromkeys(WORDS.findall(telling)))[:MAX_WORDS]
    wanted = [Word(word) for word in words]
    wanted += [Word(term.text) for term in terms_of(_telling_line(text, telling)) if term.is_name][:MAX_NAMES]
    if not wanted:
        return signature, []
    either = wanted[0] if len(wanted) == 1 else Either(tuple(wanted))
    matches: dict[object, ErrorMatch] = {}
    for restriction in (Field("is", "=", "error"), Field("role", "=", "output")):
        query = Query("", All((either, restriction, *fields)))
        answer = library.reader.search(query, sort="relevance", limit=MAX_CHATS, offset=0, hits=MAX_HITS)
        for chat in answer.chats:
            for hit in chat.hits:
                key = (chat.chat.key, hit.uuid or hit.block, hit.number)
                if key in matches or (hit.session or "").lower() in without or hit.role is not Role.OUTPUT:
                    continue
                if not hit.is_error and hit.length > LONGEST_READ:
                    continue
                content = text_of(texts, hit)
                own = plain_signature(content)
                likeness = likeness_of(own, signature) * (1.0 if hit.is_error else NOT_FLAGGED)
                if likeness >= LIKE:
                    matches[key] = ErrorMatch(hit, chat.chat, content, own, likeness)
        if sum(met.likeness == 1.0 for met in matches.values()) >= ENOUGH_EXACT_MATCHES:
            break
    return signature, sorted(matches.values(), key=lambda met: (-met.likeness, -(met.hit.time or 0)))[
        :MAX_SIMILAR_ERRORS
    ]


def ways_out(library: Library, texts: Texts, hits: Sequence[Hit]) -> dict[int, Resolution]:
    """Return the steps after these results, by passage."""
    return {block: _way_out(texts, course) for block, course in courses(library, hits).items()}


def plain_signature(text: str) -> str:
    """Return the signature without a leading word like "error", which not every tool writes."""
    return signature_of(text).removeprefix("Error: ")


def likeness_of(one: str, other: str) -> float:
    """Return the share of words that two signatures have in common."""
    if one == other:
        return 1.0
    ours, theirs = set(WORDS.findall(one.lower())), set(WORDS.findall(other.lower()))
    return min(NEAREST, len(ours & theirs) / max(1, len(ours | theirs)))


def step_text(texts: Texts, tried: Attempt, project: str | None) -> str:
    """Return a step as text: the command, or the change to a file."""
    if tried.step.role != "input":
        return tried.step.text(texts).strip()
    values = _call_input(texts, tried)
    if isinstance(command := values.get("command"), str):
        return command.strip()
    path = str(values.get("file_path") or values.get("notebook_path") or tried.row.target or "")
    if project and path.startswith(f"{project.rstrip('/')}/"):
        path = path[len(project.rstrip("/")) + 1 :]
    new = values.get("new_string") or values.get("content") or values.get("new_source")
    if path:
        return f"{path}: {new}".strip() if isinstance(new, str) else f"{tried.row.tool} {path}"
    return f"{tried.row.tool} {tried.step.text(texts)}".strip()


def _way_out(texts: Texts, course: Aftermath) -> Resolution:
    call = course.call
    answers = [tried for tried in course.following if tried.step.role == "answer"]
    if call is None:
        return Resolution(None, [("answer", answers[-1])] if answers else [])
    wanted = _kind(texts, call)
    results = {tried.row.call: tried for tried in course.following if tried.step.role == "output"}
    steps: list[tuple[str, Attempt]] = []
    was_tried = False
    inputs = [tried for tried in course.following if tried.step.role == "input"][:WITHIN]
    for tried in inputs:
        result = results.get(tried.row.call)
        is_done = result is not None and result.row.state == CallState.DONE
        if tried.row.tool == call.row.tool and _kind(texts, tried) == wanted:
            was_tried = True
            if is_done:
                return Resolution(True, [*_last(steps), ("worked", tried), *_said_after(course, tried)])
        if is_done:
            kind = "edit" if tried.row.tool in FILE_TOOLS else "command" if tried.row.tool in SHELL_TOOLS else "call"
            steps.append((kind, tried))
    last = [("answer", answers[-1])] if answers else []
    return Resolution(False if was_tried else None, [*_last(steps), *last])


def _last(steps: list[tuple[str, Attempt]]) -> list[tuple[str, Attempt]]:
    """Return the last changes; if there are none, the last other steps."""
    edits = [step for step in steps if step[0] == "edit"]
    return edits[-MAX_EDITS:] if edits else steps[-MAX_OTHER_STEPS:]


def _said_after(course: Aftermath, tried: Attempt) -> list[tuple[str, Attempt]]:
    following = course.following[course.following.index(tried) :]
    return [("answer", answer) for answer in following if answer.step.role == "answer"][:1]


def _kind(texts: Texts, tried: Attempt) -> str:
    """Return the target of a call; equal for a call and its retry."""
    if tried.row.target is not None or tried.row.tool not in SHELL_TOOLS:
        return tried.row.target or ""
    return command_kind(str(_call_input(texts, tried).get("command") or ""))


def _call_input(texts: Texts, tried: Attempt) -> dict[str, object]:
    step = tried.step
    passage = texts.passage(step.source, step.start, step.length, step.number)
    value = value_of(passage.source.input) if passage and isinstance(passage.source, ToolUse) else None
    return value if isinstance(value, dict) else {}


def _telling_line(text: str, signature: str) -> str:
    """Return the line of a text that its signature comes from, if it can be found."""
    words = set(WORDS.findall(signature))
    return max(text.splitlines()[:MAX_LINES], key=lambda line: len(words & set(WORDS.findall(line))), default="")


MAX_WORDS: Final = 12
MAX_NAMES: Final = 6
MAX_LINES: Final = 400
MAX_CHATS: Final = 16
MAX_HITS: Final = 6
MAX_SIMILAR_ERRORS: Final = 12
MAX_EDITS: Final = 2
MAX_OTHER_STEPS: Final = 1
ENOUGH_EXACT_MATCHES: Final = 3
"""With this many exact matches, results that are not marked as errors are not searched."""
WITHIN: Final = 20
"""Number of calls after an error that are checked."""
LONGEST_READ: Final = 200_000
NEAREST: Final = 0.95
NOT_FLAGGED: Final = 0.8
PLACES: Final = re.compile(r"<\w+>|…")
WORDS: Final = re.compile(r"[^\W_]+")
