"""What a search needs of the engine that knows the words."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from backscroll.store.search.nodes import EachOf, IsFact, Node, SomeOf
from backscroll.store.search.words import SAID_ROLES


class Match(NamedTuple):
    """A passage that matches."""

    score: float
    """For an order by time, the time in milliseconds."""
    chat: int
    """0 if the passage is not in a file that was allowed."""
    block: int


class ChatCount(NamedTuple):
    """How many passages of a chat match."""

    found: int
    said: int
    """How many of them are titles, prompts or answers."""


class FactCount(NamedTuple):
    """How many passages have a fact."""

    found: int
    example: int | None = None
    """One of them, if the engine came across it while it counted."""


class WordEngine(Protocol):
    """Finds passages by their words, as far as the asker may see them, at one moment.

    `files` limits an answer to some files that are too many to name in a query; None for all.
    """

    @property
    def total(self) -> int:
        """How many passages there are."""
        ...

    @property
    def newest(self) -> int:
        """The id of the newest passage."""
        ...

    @property
    def marks(self) -> list[int]:
        """The last passage of each stage that is searchable."""
        ...

    @property
    def hidden(self) -> tuple[Node, ...]:
        """What no query finds, because the rows no longer have it."""
        ...

    @property
    def finds_unlisted(self) -> bool:
        """Whether it also finds passages of chats that no list shows."""
        ...

    def visible_files(self) -> list[int] | None:
        """The files that a query has to be limited to; None if the engine sees nothing else."""
        ...

    def prepare(self, words: Iterable[str]) -> None:
        """These words will be asked for: an engine may look them up together."""
        ...

    def frequency(self, word: str) -> int:
        """About how many passages have a word: in the whole store, and perhaps with some that were deleted."""
        ...

    def visible_frequency(self, word: str) -> int:
        """Exactly how many passages have a word."""
        ...

    def known(self, words: Iterable[str]) -> set[str]:
        """Which of these words are in some passage, or were."""
        ...

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words with this beginning, each with about how many passages it is in."""
        ...

    def tools(self) -> list[str]:
        """The names of tools, in lower case."""
        ...

    def count_by_chat(self, query: Node, files: Collection[int] | None = None) -> dict[int, int]:
        """The number of matching passages by chat."""
        ...

    def said_by_chat(self, query: Node) -> Mapping[int, ChatCount]:
        """The number of matching passages by chat, and of those among them that were said."""
        ...

    def times_by_chat(self, query: Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """The time of the newest matching passage by chat, or of the oldest."""
        ...

    def best(self, query: Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """The best passages, in order: by the rarity of the words that match, and by who said them."""
        ...

    def by_time(
        self, query: Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """The newest passages, or the oldest, in order."""
        ...

    def facts(self, query: Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """How many matching passages have each fact, and how many are of each time, in microseconds, or later."""
        ...

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:
        """The places of these chats by age: lower for one that was active later."""
        ...

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:
        """How many passages these chats have."""
        ...

    @property
    def usual_size(self) -> float:
        """How many passages a chat has on average."""
        ...


def said_among(count_by_chat: Callable[[Node], Mapping[int, int]], query: Node) -> dict[int, ChatCount]:
    """What `said_by_chat` gives, counted in two steps."""
    said = count_by_chat(EachOf((query, WAS_SAID)))
    return {chat: ChatCount(found, said.get(chat, 0)) for chat, found in count_by_chat(query).items()}


WAS_SAID: Final = SomeOf(tuple(IsFact(f"role:{role}") for role in SAID_ROLES))
