"""Count the answers of a home again from its raw lines: plain `json`, nothing of the product.

The rule: one count for each `message.id` over all files (for each `uuid` where a row has none), of each field the
highest that any row says, at the first of its times.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final

TRANSCRIPT: Final = re.compile(r"(agent-.+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")
TOKENS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
SYNTHETIC: Final = "<synthetic>"


@dataclass
class Told:
    """The combined rows of one answer."""

    numbers: Counter[str] = field(default_factory=Counter)
    times: set[datetime] = field(default_factory=set)
    models: set[str | None] = field(default_factory=set)
    files: set[Path] = field(default_factory=set)
    rows: int = 0
    is_final: bool = False
    reported: float | None = None

    @property
    def is_synthetic(self) -> bool:
        return SYNTHETIC in self.models


def recount(home: Path) -> dict[str, Told]:
    """Every answer of a home, also those of agents that only progress rows of the main session repeat."""
    answers: dict[str, Told] = defaultdict(Told)
    for path in sorted((home / "projects").rglob("*.jsonl")):
        if not TRANSCRIPT.fullmatch(path.name):
            continue
        for row in _rows(path):
            told = row
            if row.get("type") == "progress":
                told = (row.get("data") or {}).get("message") or {}
            message = told.get("message") if told.get("type") == "assistant" else None
            usage = message.get("usage") if isinstance(message, dict) else None
            if isinstance(message, dict) and isinstance(usage, dict):
                _add(answers[message.get("id") or told["uuid"]], path, row, message, usage)
    return answers


def totals(answers: dict[str, Told]) -> dict[str, int]:
    """What all of them come to, without those that the client made up."""
    total: Counter[str] = Counter(dict.fromkeys(TOKENS, 0))
    for told in answers.values():
        if not told.is_synthetic:
            total.update(told.numbers)
            total["messages"] += 1
    return dict(total)


def by_model(answers: dict[str, Told]) -> dict[str, dict[str, int]]:
    """The same for each model."""
    groups: dict[str, dict[str, Told]] = defaultdict(dict)
    for name, told in answers.items():
        if not told.is_synthetic:
            (model,) = told.models
            groups[model or "-"][name] = told
    return {model: totals(group) for model, group in groups.items()}


def by_day(answers: dict[str, Told], zone: tzinfo, form: str = "%Y-%m-%d") -> dict[str, dict[str, int]]:
    """The same for each day of a time zone, or another part of it; `-` for what has no time."""
    groups: dict[str, dict[str, Told]] = defaultdict(dict)
    for name, told in answers.items():
        if not told.is_synthetic:
            day = min(told.times).astimezone(zone).strftime(form) if told.times else "-"
            groups[day][name] = told
    return {day: totals(group) for day, group in groups.items()}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    for line in path.read_bytes().split(b"\n"):
        text, at = line.decode(errors="replace").strip("\0 \r"), 0
        while at < len(text):
            try:
                row, at = decoder.raw_decode(text, at)
            except ValueError:
                break
            if isinstance(row, dict):
                yield row


def _add(told: Told, path: Path, row: dict[str, Any], message: dict[str, Any], usage: dict[str, Any]) -> None:
    written, used = usage.get("cache_creation") or {}, usage.get("server_tool_use") or {}
    numbers = {name: usage.get(name) or 0 for name in TOKENS}
    numbers["cache_creation_5m"] = written.get("ephemeral_5m_input_tokens") or 0
    numbers["cache_creation_1h"] = written.get("ephemeral_1h_input_tokens") or 0
    numbers["web_searches"] = used.get("web_search_requests") or 0
    numbers["web_fetches"] = used.get("web_fetch_requests") or 0
    told.numbers |= Counter(numbers)  # the maximum of each
    if row.get("timestamp"):
        told.times.add(datetime.fromisoformat(row["timestamp"]))
    told.models.add(message.get("model"))
    told.files.add(path)
    told.rows += 1
    told.is_final |= message.get("stop_reason") is not None
    if row.get("costUSD") is not None:
        told.reported = max(told.reported or 0.0, row["costUSD"])
