"""Prompts: their number and length, interruptions, and repetitions."""

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
"""Number of characters of a prompt that are stored."""


@dataclass
class PromptTotals:
    """Sums over prompts of a group."""

    lengths: list[int] = field(default_factory=list)
    queued: int = 0
    interruptions: int = 0
    abandoned: int = 0
    repeated: int = 0
    rework: int = 0
    """Prompts that were abandoned, repeated, or both."""

    def row(self) -> tuple[Any, ...]:
        """Return the values of `COLUMNS`."""
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
    """Return the report of prompts."""
    counted = count_prompts(library, asked, by)
    facts = {
        "total": dict(zip(COLUMNS, counted.total.row(), strict=True)),
        "chats": len(counted.chats),
        "copies": counted.copies,
        "without_time": counted.without_time,
    }
    notes = [
        (
            f"{count(len(counted.total.lengths), 'prompt')} in {count(len(counted.chats), 'chat')}; "
            f"{count(counted.copies, 'copy', 'copies')} not counted again"
        ),
        "what agents were told is not counted; slash commands are",
        f"rework: undone by a rewind, or the same text again in a chat ({MIN_PROMPT_LENGTH} characters or more)",
    ]
    if counted.without_time:
        notes.append(f"{count(counted.without_time, 'row')} without a time not included")
    names = names_in_order(counted.groups, by, lambda sums: len(sums.lengths))
    rows = [(name, *counted.groups[name].row()) for name in names]
    return Report((by, *COLUMNS), rows, facts, notes, bar="prompts")


def count_prompts(library: Library, asked: ReportRequest, by: str = "project") -> PromptCounts:
    """Count all prompts in the period."""
    left_out = LeftOutRows()
    counted = PromptCounts(PromptTotals(), defaultdict(PromptTotals), set(), [], 0, 0)
    inside, name_of = within(asked), names_by(asked, by)
    for chat in by_chat(reports_about(library, asked).prompt_moments(), left_out):
        before: set[tuple[str, int]] = set()
        for row in chat:
            start, time = row.text or "", time_of(row)
            size = row.size or len(start)
            text = " ".join(start.split()).casefold()
            # Only the start of a long text is stored; together with its length it identifies the text.
            identity = (text, size if len(start) >= LONGEST_TEXT else 0)
            again = len(text) >= MIN_PROMPT_LENGTH and identity in before
            before.add(identity)
            if not inside(time):
                continue
            for sums in (counted.total, counted.groups[name_of(row)]):
                if row.kind == "interruption":
                    sums.interruptions += 1
                    continue
                sums.lengths.append(size)
                sums.queued += row.kind == "queued"
                sums.abandoned += row.is_abandoned
                sums.repeated += again
                sums.rework += row.is_abandoned or again
            if row.kind != "interruption":
                counted.chats.add(row.chat_id)
                counted.times.append(time)
    counted.without_time, counted.copies = left_out.without_time, left_out.copies
    return counted
