"""Where an error was met before, and what solved it.

Errors are compared by their signatures: what they say without paths, numbers and names. What solved one is what was
done between it and the next try of the same thing that went well: the same file, or the same kind of command.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from backscroll.conversation import Role, State
from backscroll.conversation.signatures import command_kind, signature_of
from backscroll.library.budget import cut_to, excerpt, tokens_of
from backscroll.library.following import Course, Tried, courses
from backscroll.library.library import Library
from backscroll.library.questions import terms_of
from backscroll.library.recall import (
    A_LINE,
    AROUND_PASSAGE,
    DEFAULT_TOKENS,
    FEWEST_TOKENS,
    HEADING,
    Recalled,
    Source,
    cost_of,
    is_project,
    source_of,
)
from backscroll.library.searching import text_of
from backscroll.library.texts import Texts
from backscroll.query import All, Either, Field, Highlighter, Part, Query, Word
from backscroll.records import FILE_TOOLS, ToolUse, value_of
from backscroll.store import EPOCH, Hit, StoredChat

SHELL_TOOLS: Final = frozenset({"Bash", "PowerShell"})


@dataclass(frozen=True)
class Solution:
    """A step on the way to the call that went well: an edit, a command, that call itself, or what was said then."""

    source: Source
    kind: str
    """edit, command, call, worked or answer."""
    text: str


@dataclass(frozen=True)
class SimilarError:
    """An error that was met before."""

    source: Source
    signature: str
    text: str
    is_same: bool
    """Whether its signature is the same; else it is near."""
    is_solved: bool | None
    """Whether the same call went well later in the turn; None where it was not tried again."""
    solution: list[Solution]
    is_cut: bool
    score: float


@dataclass(frozen=True)
class SimilarErrors:
    """The answer, the most useful error first."""

    error: str
    signature: str
    errors: list[SimilarError]
    found: int
    """How many were like it, before the budget."""
    chats: int
    tokens: int
    is_cut: bool
    hint: str


def similar_errors(
    library: Library,
    text: str,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    project: str | None = None,
    without: Collection[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> SimilarErrors:
    """Errors like this text, with what solved them; `project` is preferred, `without` are sessions to leave out."""
    signature = signature_of(text)
    texts = Texts(lambda: library.archive)
    try:
        left_out = {session.lower() for session in without}
        met = _met(library, texts, text, signature, left_out, _moments(since, until))
        for one in met:
            if project and is_project(project, one.chat.overview.project):
                one.score *= PROJECT
        return _told(library, texts, text, signature, met, max(max_tokens, FEWEST_TOKENS))
    finally:
        texts.close()


class _Met:
    """An error that was found."""

    def __init__(self, hit: Hit, chat: StoredChat, text: str, signature: str, score: float) -> None:
        self.hit = hit
        self.chat = chat
        self.text = text
        self.signature = signature
        self.score = score


def _moments(since: datetime | None, until: datetime | None) -> list[Part]:
    fields: list[Part] = []
    if since is not None:
        fields.append(Field("after", ">=", since))
    if until is not None:
        fields.append(Field("before", "<", until))
    return fields


def _met(
    library: Library, texts: Texts, text: str, signature: str, without: set[str], fields: list[Part]
) -> list[_Met]:
    """What was found with the words of the error, each text once, the likest first."""
    words = [Word(word) for word in dict.fromkeys(WORDS.findall(PLACES.sub(" ", signature)))][:MOST_WORDS]
    told = [Word(term.text) for term in terms_of(_telling(text, signature)) if term.is_name][:MOST_NAMES]
    wanted: list[Part] = [*words, *told]
    if not wanted:
        return []
    either = wanted[0] if len(wanted) == 1 else Either(tuple(wanted))
    found: dict[object, _Met] = {}
    for restriction in (Field("is", "=", "error"), Field("role", "=", "output")):
        query = Query("", All((either, restriction, *fields)))
        answer = library.store.search(
            query, library.passing, sort="relevance", limit=MOST_CHATS, offset=0, hits=MOST_HITS
        )
        for chat in answer.chats:
            for hit in chat.hits:
                key = (chat.chat.key, hit.uuid or hit.block, hit.number)
                if key in found or (hit.session or "").lower() in without or hit.role is not Role.OUTPUT:
                    continue
                said = text_of(texts, hit)
                own = signature_of(said)
                likeness = 1.0 if own == signature else _likeness(own, signature)
                if not hit.is_error:
                    likeness *= NOT_FLAGGED
                if likeness >= LIKE:
                    found[key] = _Met(hit, chat.chat, said, own, likeness)
    return sorted(found.values(), key=lambda one: (-one.score, -(one.hit.time or 0)))[:MOST_MET]


def _told(
    library: Library, texts: Texts, text: str, signature: str, met: list[_Met], max_tokens: int
) -> SimilarErrors:
    ways = courses(library, [one.hit for one in met])
    kinds = _Kinds(texts)
    made = []
    for one in met:
        is_solved, steps = _solution(ways[one.hit.block], kinds)
        score = one.score * (SOLVED if is_solved else 1.0 if is_solved is None else UNSOLVED)
        made.append((score, one, is_solved, steps))
    made.sort(key=lambda item: (-item[0], -(item[1].hit.time or 0)))
    highlighter = Highlighter(Query("", All(tuple(Word(word) for word in WORDS.findall(signature)[:MOST_WORDS]))))
    left = max_tokens - HEADING
    errors: list[SimilarError] = []
    of_chat: dict[int, int] = {}
    is_cut = False
    for score, one, is_solved, steps in made:
        if of_chat.get(one.chat.key, 0) >= EACH_CHAT:
            is_cut = True
            continue
        error = _error(texts, one, is_solved, steps, score, signature, highlighter, min(left, int(max_tokens * SHARE)))
        cost = cost_of_error(error)
        if cost > left:
            is_cut = True
            continue
        errors.append(error)
        of_chat[one.chat.key] = of_chat.get(one.chat.key, 0) + 1
        left -= cost
    is_cut = is_cut or any(error.is_cut for error in errors)
    chats = len({one.chat.key for one in met})
    hint = "" if errors else "no error like it was met; ask recall with its words"
    if is_cut:
        hint = "read one with its chat and message id, or ask for more tokens"
    return SimilarErrors(text, signature, errors, len(met), chats, max_tokens - left, is_cut, hint)


def _error(
    texts: Texts, one: _Met, is_solved: bool | None, steps: list[tuple[str, Tried]], score: float, signature: str,
    highlighter: Highlighter, tokens: int,
) -> SimilarError:  # fmt: skip
    source = source_of(one.hit, one.chat)
    tokens -= cost_of(Recalled(source, "", False, 0.0, ()))
    text = excerpt(one.text, highlighter, max(8, int(tokens * ERROR_SHARE)))
    tokens -= tokens_of(text) + A_LINE * (1 + text.count("\n"))
    solution = []
    is_cut = len(text) < len(one.text.strip())
    for at, (kind, tried) in enumerate(steps):
        when = EPOCH + timedelta(microseconds=tried.time) if tried.time is not None else None
        place = Source(source.chat, source.title, source.project, tried.step.uuid or "", when, kind, source.agent)
        whole = _shown(texts, tried)
        room = tokens // (len(steps) - at) - A_STEP
        said = cut_to(whole, room) if room > 8 else ""
        while said and tokens_of(said) + A_LINE * said.count("\n") > room:
            said = cut_to(said, tokens_of(said) - A_LINE * said.count("\n") // 2 - 1)
        is_cut = is_cut or said != whole
        if said:
            solution.append(Solution(place, kind, said))
            tokens -= tokens_of(said) + A_STEP + A_LINE * said.count("\n")
    return SimilarError(
        source, one.signature, text, one.signature == signature, is_solved, solution, is_cut, round(score, 3)
    )


def cost_of_error(error: SimilarError) -> int:
    """How many tokens it takes in the text of an answer, with its sources, at most."""
    cost = cost_of(Recalled(error.source, error.text, False, 0.0, ()))
    for step in error.solution:
        cost += A_STEP + tokens_of(step.text) + A_LINE * step.text.count("\n")
    return cost


class _Kinds:
    """What calls are about: the file, else the kind of the command."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def of(self, tried: Tried) -> str:
        """Equal for two tries of the same thing."""
        if tried.target is not None or tried.tool not in SHELL_TOOLS:
            return tried.target or ""
        return command_kind(str(given(self._texts, tried).get("command") or ""))


def given(texts: Texts, tried: Tried) -> dict[str, object]:
    """The input of a call."""
    step = tried.step
    passage = texts.passage(step.path, step.start, step.length, step.number)
    value = value_of(passage.source.input) if passage and isinstance(passage.source, ToolUse) else None
    return value if isinstance(value, dict) else {}


def _solution(course: Course, kinds: _Kinds) -> tuple[bool | None, list[tuple[str, Tried]]]:
    """Whether the same call went well later, and what was done until then."""
    results = {tried.call: tried for tried in course.following if tried.step.role == "output"}
    wanted = kinds.of(course.call) if course.call else None
    steps: list[tuple[str, Tried]] = []
    tries = 0
    for at, tried in enumerate(course.following):
        if tried.step.role != "input" or course.call is None:
            continue
        tries += 1
        if tries > WITHIN:
            break
        result = results.get(tried.call)
        is_same = tried.tool == course.call.tool and kinds.of(tried) == wanted
        if result is not None and result.state != State.DONE and not is_same:
            continue
        if is_same and result is not None and result.state == State.DONE and (
            result.signature != course.call.signature or not result.signature
        ):
            answer = next((one for one in course.following[at:] if one.step.role == "answer"), None)
            return True, [*steps[-MOST_STEPS:], ("worked", tried), *([("answer", answer)] if answer else [])]
        if tried.tool in FILE_TOOLS:
            steps.append(("edit", tried))
        elif tried.tool in SHELL_TOOLS:
            steps.append(("command", tried))
    answers = [one for one in course.following if one.step.role == "answer"]
    last = [("answer", answers[-1])] if answers else []
    tried_again = any(
        tried.step.role == "input" and course.call and tried.tool == course.call.tool and kinds.of(tried) == wanted
        for tried in course.following
    )
    return (False if tried_again else None), [*steps[-MOST_STEPS:], *last]


def _shown(texts: Texts, tried: Tried) -> str:
    """A step in words: what was run, or what was changed into what."""
    if tried.step.role != "input":
        return tried.step.text(texts).strip()
    values = given(texts, tried)
    if isinstance(command := values.get("command"), str):
        return command.strip()
    path = values.get("file_path") or values.get("notebook_path") or tried.target or ""
    new = values.get("new_string") or values.get("content") or values.get("new_source") or ""
    if path:
        return f"{path}\n{new}".strip()
    return tried.step.text(texts).strip()


def _telling(text: str, signature: str) -> str:
    """The line of a text that its signature was made from, as far as that can be told."""
    words = set(WORDS.findall(PLACES.sub(" ", signature)))
    lines = text.splitlines()[:MOST_LINES]
    return max(lines, key=lambda line: len(words & set(WORDS.findall(line))), default="")


def _likeness(one: str, other: str) -> float:
    """How much of their words two signatures share."""
    ours, theirs = set(WORDS.findall(one.lower())), set(WORDS.findall(other.lower()))
    return len(ours & theirs) / max(1, len(ours | theirs))


MOST_WORDS: Final = 12
MOST_NAMES: Final = 6
MOST_LINES: Final = 400
MOST_CHATS: Final = 20
MOST_HITS: Final = 8
MOST_MET: Final = 16
MOST_STEPS: Final = 4
EACH_CHAT: Final = 3
WITHIN: Final = 20
"""How many calls after an error are looked at."""
LIKE: Final = 0.5
NOT_FLAGGED: Final = 0.8
SOLVED: Final = 1.2
UNSOLVED: Final = 0.9
PROJECT: Final = 1.3
SHARE: Final = 0.34
"""How much of the budget one error may take."""
ERROR_SHARE: Final = 0.35
A_STEP: Final = AROUND_PASSAGE + A_LINE
PLACES: Final = re.compile(r"<\w+>|…")
WORDS: Final = re.compile(r"[^\W_]+")
