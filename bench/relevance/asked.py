"""The queries and questions in the data files next to this module, and the half that each belongs to."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
HALVES: Final = ("tune", "report")
UNSEEN: Final = "unseen"
"""Queries and questions that were written last, and that no rule was chosen with."""
PARTS: Final = (*HALVES, UNSEEN)
KINDS: Final = ("paraphrase", "filler", "typo", "identifier", "error", "command", "language", "detail")
NEARNESS: Final = ("far", "near")


@dataclass(frozen=True)
class AskedQuery:
    """A query of a user who half remembers a chat."""

    kind: str
    text: str
    chats: tuple[str, ...]
    """The chats that are right; the first decides the half."""
    is_unseen: bool = False

    @property
    def half(self) -> str:
        """`tune` is for choosing weights, `report` for the published figures; the unseen ones are apart."""
        return UNSEEN if self.is_unseen else half_of(self.chats[0])


@dataclass(frozen=True)
class AskedQuestion:
    """A question for `recall`. Without facts it is one that no chat answers."""

    kind: str
    text: str
    chat: str = ""
    facts: tuple[str, ...] = ()
    """An answer has one of these."""
    is_unseen: bool = False

    @property
    def half(self) -> str:
        """By the chat, or by the question if there is no chat; the unseen ones are a part of their own."""
        return UNSEEN if self.is_unseen else half_of(self.chat or self.text)


def half_of(name: str) -> str:
    """The half of a chat and of all questions about it."""
    return HALVES[0] if sha256(name.encode()).digest()[0] % 2 else HALVES[1]


def queries() -> list[AskedQuery]:
    """All queries, in the order of the files."""
    return [
        AskedQuery(asked["kind"], asked["text"], (chat["id"], *asked.get("also", ())), is_unseen)
        for name, is_unseen in (("queries.toml", False), ("unseen.toml", True))
        for chat in _read(name)["chat"]
        for asked in chat["queries"]
    ]


def questions() -> list[AskedQuestion]:
    """All questions for `recall`; of each file those with an answer first."""
    return list(_questions())


def _questions() -> Iterator[AskedQuestion]:
    for name, is_unseen in (("questions.toml", False), ("unseen.toml", True)):
        read = _read(name)
        for asked in read["answerable"]:
            yield AskedQuestion("answerable", asked["question"], asked["chat"], tuple(asked["facts"]), is_unseen)
        for asked in read["unanswerable"]:
            yield AskedQuestion(asked["kind"], asked["question"], is_unseen=is_unseen)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))
