"""The content of the context window at every turn of a chat, in parts that add up to the counted tokens.

The size of the context before each answer is counted: input, cache reads and cache writes. Its parts are not recorded,
so they are estimated. Growth between two answers is divided among the passages between them, by their length. The
context of the first answer is the prompt, at about four characters a token, and for the rest the system prompt, the
tools and CLAUDE.md, none of which are in the transcript. After a compaction, that part stays and the rest is the
summary. Where a context shrinks without one, all other parts shrink in proportion.

Pure except for `context_fill`, which reads from the store.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.library.analytics.context import ContextCut, compactions_of
from backscroll.library.analytics.file_calls import of_chat
from backscroll.library.analytics.reports import ReportRequest, reports_about
from backscroll.library.library import Library
from backscroll.records.tools import AGENT_TOOLS
from backscroll.store.report_rows import ContextAnswer, TypedPrompt

CHARACTERS_PER_TOKEN: Final = 4
PARTS: Final = {
    "system": "System prompt, tools, CLAUDE.md",
    "summary": "Summary of a compaction",
    "prompt": "Prompts",
    "answer": "Answers",
    "thinking": "Thinking",
    "input": "Tool calls",
    "output": "Tool outputs",
    "agents": "Agents' answers",
    "other": "Attachments and notes of the client",
    "unknown": "Not in the transcript",
}
"""The parts with their titles. Tool outputs are `output:TOOL`."""

Tokens = dict[str, int]
"""Tokens by part of the context."""


class SizedPassage(NamedTuple):
    """A passage with its part of the context, its time and its characters."""

    time: int
    part: str
    size: int


class CompactedContext(NamedTuple):
    """The context before a compaction, and after it."""

    time: int
    before: Tokens
    after: Tokens
    stated: ContextCut
    """The compaction as the transcript states it."""


@dataclass
class FilledTurn:
    """The context before the last answer of a turn."""

    prompt: TypedPrompt | None
    """None before the first prompt."""
    time: int
    model: str | None
    tokens: int
    """Counted, not estimated."""
    parts: Tokens
    """Estimated; they add up to `tokens`."""


@dataclass
class ContextFill:
    """The context of a chat over its turns."""

    turns: list[FilledTurn] = field(default_factory=list)
    compacted: list[CompactedContext] = field(default_factory=list)
    shrunk: int = 0
    """Number of times that the context became smaller without a compaction."""

    @property
    def largest(self) -> int:
        """The largest context of a turn."""
        return max((turn.tokens for turn in self.turns), default=0)


def context_fill(library: Library, chat: str) -> ContextFill:
    """Return the content of a chat's context, without its agents: they have contexts of their own."""
    request = of_chat(library, chat, ReportRequest())
    reports = reports_about(library, request)
    prompts = list({item.uuid: item for item in reversed(reports.typed_prompts()) if not item.in_agent}.values())[::-1]
    prompts = sorted(
        (item for item in prompts if item.time is not None and item.starts_turn), key=lambda item: item.time or 0
    )
    answers = [item for item in reports.context_answers() if item.time is not None and item.context]
    with library.texts() as texts:
        passages = [
            SizedPassage(
                item.time, part_name(item.role, item.tool),
                len(texts.text(item.source, item.start, item.length, item.block)) if item.is_unsized else item.size,
            )
            for item in reports.context_passages()
            if item.time is not None
        ]  # fmt: skip
        cuts = compactions_of(library, texts, request, answers)
    return fill(answers, passages, cuts, prompts)


def part_name(role: str, tool: str | None) -> str:
    """Return the part of the context that a passage belongs to."""
    if role != "output":
        return role if role in PARTS else "other"
    return "agents" if tool in AGENT_TOOLS else f"output:{tool or '-'}"


def fill(
    answers: Sequence[ContextAnswer],
    passages: Iterable[SizedPassage],
    cuts: Iterable[ContextCut],
    prompts: Sequence[TypedPrompt],
) -> ContextFill:
    """Follow the context from answer to answer; all arguments are in order of time."""
    waiting, cut_times = sorted(passages), sorted(cuts, key=lambda cut: cut.time or 0)
    starts = [prompt.time or 0 for prompt in prompts]
    filled, parts, before, at, cut_at = ContextFill(), Tokens(), 0, 0, 0
    turns: dict[int, FilledTurn] = {}
    for answer in answers:
        time, tokens = answer.time or 0, answer.context
        added: Tokens = {}
        while at < len(waiting) and waiting[at].time < time:
            added[waiting[at].part] = added.get(waiting[at].part, 0) + waiting[at].size
            at += 1
        cut = None
        while cut_at < len(cut_times) and (cut_times[cut_at].time or 0) < time:
            cut, cut_at = cut_times[cut_at], cut_at + 1
        old = parts
        if not parts:
            parts = _first(added, tokens)
        elif cut is not None:
            system = min(parts.get("system", 0), tokens)
            parts = {"system": system, "summary": tokens - system}
            filled.compacted.append(CompactedContext(cut.time or time, old, parts, cut))
        elif tokens >= before:
            parts = _joined(parts, _shared(added, tokens - before))
        else:
            parts = _shrunk(parts, tokens)
            filled.shrunk += 1
        before = tokens
        turn = bisect_right(starts, time) - 1
        prompt = prompts[turn] if turn >= 0 else None
        turns[turn] = FilledTurn(prompt, time, answer.model, tokens, dict(parts))
    filled.turns = [turns[turn] for turn in sorted(turns)]
    return filled


def _first(added: Tokens, tokens: int) -> Tokens:
    known = {name: size // CHARACTERS_PER_TOKEN for name, size in added.items() if size >= CHARACTERS_PER_TOKEN}
    if sum(known.values()) >= tokens:
        return _shared(known, tokens)
    return {"system": tokens - sum(known.values()), **known}


def _shared(weights: Tokens, tokens: int) -> Tokens:
    """Divide the tokens by weights, in whole numbers that add up to `tokens`."""
    whole = sum(weights.values())
    if not tokens:
        return {}
    if not whole:
        return {"unknown": tokens}
    shared = {name: tokens * weight // whole for name, weight in weights.items()}
    shared[max(weights, key=lambda name: weights[name])] += tokens - sum(shared.values())
    return {name: number for name, number in shared.items() if number}


def _joined(one: Tokens, other: Tokens) -> Tokens:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _shrunk(parts: Tokens, tokens: int) -> Tokens:
    system = parts.get("system", 0)
    rest = {name: number for name, number in parts.items() if name != "system" and number}
    if tokens <= system or not rest:
        return {"system": tokens}
    return {"system": system, **_shared(rest, tokens - system)}
