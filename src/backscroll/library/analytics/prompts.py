"""Prompts: how many, how long, how often the model was interrupted, and how often a prompt was repeated."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from backscroll.library.analytics.moments import LeftOutRows, by_chat, names_by, time_of, within
from backscroll.library.analytics.periods import names_in_order
from backscroll.library.analytics.reports import Report, ReportRequest, percentile, reports_about, share
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library

DIMENSIONS: Final = ("project", "day", "chat")
COLUMNS: Final = (
    "prompts", "queued", "characters", "length_p50", "length_p90", "interruptions", "abandoned", "repeated",
    "rework_share",
)  # fmt: skip
MIN_PROMPT_LENGTH: Final = 20
"""Shorter prompts are not counted as repeated: `go on`, `yes`."""
LONGEST_TEXT: Final = 200
"""How much of a prompt is stored."""


@dataclass
class PromptTotals:
    """Sums over prompts."""

    lengths: list[int] = field(default_factory=list)
    queued: int = 0
    interruptions: int = 0
    abandoned: int = 0
    repeated: int = 0
    rework: int = 0
    """Abandoned, repeated, or both."""

    def row(self) -> tuple[Any, ...]:
        """The columns."""
        return (
            len(self.lengths), self.queued, sum(self.lengths), percentile(self.lengths, 0.5),
            percentile(self.lengths, 0.9), self.interruptions, self.abandoned, self.repeated,
            share(self.rework, len(self.lengths)),
        )  # fmt: skip


@dataclass
class PromptCounts:
    """All prompts, by group."""

    total: PromptTotals
    groups: dict[str, PromptTotals]
    chats: set[str]
    times: list[int]
    without_time: int
    copies: int


def prompts(library: Library, asked: ReportRequest, by: str = "project") -> Report:
    """The report of prompts."""
    found = count_prompts(library, asked, by)
    facts = {
        "total": dict(zip(COLUMNS, found.total.row(), strict=True)),
        "chats": len(found.chats),
        "copies": found.copies,
        "without_time": found.without_time,
    }
    notes = [
        (
            f"{count(len(found.total.lengths), 'prompt')} in {count(len(found.chats), 'chat')}; "
            f"{count(found.copies, 'copy', 'copies')} not counted again"
        ),
        "what agents were told, and slash commands, are not counted",
        f"rework: undone by a rewind, or the same text again in a chat ({MIN_PROMPT_LENGTH} characters or more)",
    ]
    if found.without_time:
        notes.append(f"{count(found.without_time, 'row')} without a time not included")
    names = names_in_order(found.groups, by, lambda sums: len(sums.lengths))
    rows = [(name, *found.groups[name].row()) for name in names]
    return Report((by, *COLUMNS), rows, facts, notes, bar="prompts")


def count_prompts(library: Library, asked: ReportRequest, by: str = "project") -> PromptCounts:
    """All prompts in the period."""
    left_out = LeftOutRows()
    found = PromptCounts(PromptTotals(), defaultdict(PromptTotals), set(), [], 0, 0)
    inside, name_of = within(asked), names_by(asked, by)
    for chat in by_chat(reports_about(library, asked).prompt_moments(), left_out):
        before: set[tuple[str, int]] = set()
        for row in chat:
            start, time = row.text or "", time_of(row)
            size = row.size or len(start)
            text = " ".join(start.split()).casefold()
            # Only the start of a long text is stored; together with its length it identifies the text.
            said = (text, size if len(start) >= LONGEST_TEXT else 0)
            again = len(text) >= MIN_PROMPT_LENGTH and said in before
            before.add(said)
            if not inside(time):
                continue
            for sums in (found.total, found.groups[name_of(row)]):
                if row.kind == "interruption":
                    sums.interruptions += 1
                    continue
                sums.lengths.append(size)
                sums.queued += row.kind == "queued"
                sums.abandoned += row.is_abandoned
                sums.repeated += again
                sums.rework += row.is_abandoned or again
            if row.kind != "interruption":
                found.chats.add(row.chat_id)
                found.times.append(time)
    found.without_time, found.copies = left_out.without_time, left_out.copies
    return found
