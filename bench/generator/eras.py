"""Which version of Claude Code was current when, and which models."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Era:
    """Versions `first` to `last` of `line`, from one day to another, and their share of the sessions."""

    share: float
    line: str
    first: int
    last: int
    begins: tuple[int, int, int]
    ends: tuple[int, int, int]

    def version_at(self, moment: int) -> str:
        """The version that was current then, taking releases as evenly spread."""
        begins, ends = milliseconds(self.begins), milliseconds(self.ends)
        return f"{self.line}.{self.first + (self.last - self.first) * (moment - begins) // (ends - begins)}"


ERAS = (
    Era(0.14, "1.0", 17, 119, (2025, 5, 20), (2025, 9, 19)),
    Era(0.03, "1.0", 120, 128, (2025, 9, 19), (2025, 9, 29)),
    Era(0.07, "2.0", 0, 20, (2025, 9, 29), (2025, 10, 17)),
    Era(0.16, "2.0", 28, 76, (2025, 10, 27), (2026, 1, 6)),
    Era(0.04, "2.1", 0, 11, (2026, 1, 7), (2026, 1, 16)),
    Era(0.32, "2.1", 12, 83, (2026, 1, 17), (2026, 3, 25)),
    Era(0.24, "2.1", 84, 325, (2026, 3, 26), (2026, 10, 15)),
)
_MODELS = (
    ((2025, 5, 14), "claude-sonnet-4-20250514"),
    ((2025, 5, 14), "claude-opus-4-20250514"),
    ((2025, 8, 5), "claude-opus-4-1-20250805"),
    ((2025, 9, 29), "claude-sonnet-4-5-20250929"),
    ((2025, 10, 15), "claude-haiku-4-5-20251001"),
    ((2025, 11, 24), "claude-opus-4-5-20251101"),
    ((2026, 2, 5), "claude-opus-4-6"),
    ((2026, 2, 17), "claude-sonnet-4-6"),
    ((2026, 7, 1), "claude-sonnet-5"),
    ((2026, 8, 1), "claude-opus-5"),
)


def milliseconds(day: tuple[int, int, int]) -> int:
    """The first moment of that day, UTC."""
    return int(datetime(*day, tzinfo=UTC).timestamp()) * 1000


def models_at(moment: int) -> list[str]:
    """The four newest models of that moment."""
    return [model for since, model in _MODELS if milliseconds(since) <= moment][-4:]
