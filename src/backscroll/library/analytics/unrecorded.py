"""Requests without a record: compactions, titles and searches inside tools leave no answer, only a client's total.

They are never part of the sums of answers: reports show them separately, with the sum of both.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from backscroll.pricing.money import microdollars
from backscroll.store.report_rows import UnrecordedUsage
from backscroll.store.reports import Reports

NAME: Final = "requests without a record"
MEASURES: Final = (
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cost_microdollars",
    "web_searches",
)  # fmt: skip


class Unrecorded:
    """The usage of requests without a record."""

    def __init__(self, rows: Sequence[UnrecordedUsage]) -> None:
        self.rows = rows

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def tokens(self) -> int:
        """The sum of all tokens."""
        return sum(row.tokens for row in self.rows)

    @property
    def cost(self) -> int | None:
        """Nanodollars; None if nothing has a price."""
        return None if all(row.unpriced for row in self.rows) else sum(row.cost for row in self.rows)

    def matching(self, **names: str) -> "Unrecorded":
        """Return the requests of a model, a project or a chat."""
        return Unrecorded(
            [row for row in self.rows if all((getattr(row, name) or "-") == value for name, value in names.items())]
        )

    def facts(self, answers: int | None) -> dict[str, Any] | None:
        """Return the measures, also by model, and the sum with the microdollars of answers; None without requests."""
        if not self.rows:
            return None
        by_model: dict[str, list[UnrecordedUsage]] = defaultdict(list)
        for row in self.rows:
            by_model[row.model].append(row)
        mine = _measures(self.rows)
        cost = mine["cost_microdollars"]
        return {
            **mine,
            "models": [{"model": model, **_measures(rows)} for model, rows in sorted(by_model.items())],
            "with_answers_microdollars": None if cost is None and answers is None else (cost or 0) + (answers or 0),
        }


def unrecorded_requests(reports: Reports) -> Unrecorded:
    """Return the requests without a record in the scope of some reports."""
    return Unrecorded(reports.unrecorded())


def unrecorded_note(facts: dict[str, Any], least: str = "") -> str:
    """Return the note on requests without a record; `least` is `≥ ` if the sum of answers is a lower bound."""
    tokens = sum(facts[name] for name in MEASURES[:4])
    cost, both = facts["cost_microdollars"], facts["with_answers_microdollars"]
    text = f"{NAME} (compactions, titles, searches inside tools): {tokens:,} tokens"
    if cost is None:
        return f"{text} without a known price, beside these sums"
    return f"{text}, {_dollars(cost)}, beside these sums; {least}{_dollars(both)} with them"


def _measures(rows: Sequence[UnrecordedUsage]) -> dict[str, int | None]:
    cost = None if all(row.unpriced for row in rows) else microdollars(sum(row.cost for row in rows))
    sums = [sum(getattr(row, name) for row in rows) for name in ("input", "output", "cache_write", "cache_read")]
    return dict(zip(MEASURES, (*sums, cost, sum(row.web_searches for row in rows)), strict=True))


def _dollars(amount: int) -> str:
    return f"${amount / 1e6:,.2f}" if amount >= 10_000 or not amount else f"${amount / 1e6:.4f}"
