"""The protocol of the engine that finds passages by their words, and the rows it returns."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from backscroll.store.search.nodes import EachOf, IsFact, Node, SomeOf
from backscroll.store.search.words import SAID_ROLES

FREQUENT: Final = 20
"""A word is frequent if more than one in this many passages has it."""
NEVER_FREQUENT: Final = 100
"""A word in no more passages than this is never frequent."""
MAX_COUNTED: Final = 100
"""The most words with a beginning for which the engine counts the passages."""
SPARE: Final = 4
"""The factor of additional words to look at: some are in deleted passages only, or in passages of others."""


class Match(NamedTuple):
    """A passage that matches."""

    score: float
    """The time in milliseconds, if the order is by time."""
    chat: int
    """0 if the passage is not in an allowed file."""
    block: int


class ChatCount(NamedTuple):
    """The number of passages of a chat that match."""

    found: int
    said: int
    """The number of titles, prompts and answers among them."""


class FactCount(NamedTuple):
    """The number of passages that have a fact."""

    found: int
    example: int | None = None
    """One of these passages, if the engine came across it while counting."""


class WordEngine(Protocol):
    """Finds passages by their words, limited to what the reader may see, at one moment.

    `files` limits an answer to files that are too many to name in a query; None for all.
    """

    @property
    def total(self) -> int:
        """The number of passages."""
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
        """Nodes that are excluded from every query, because the rows no longer have those passages."""
        ...

    @property
    def finds_unlisted(self) -> bool:
        """Whether the engine also finds passages of chats that no list shows."""
        ...

    def visible_files(self) -> list[int] | None:
        """Return the files that a query must be limited to; None if the engine sees no others."""
        ...

    def prepare(self, words: Iterable[str]) -> None:
        """Announce words that will be looked up, so that an engine may look them up together."""
        ...

    def frequency(self, word: str) -> int:
        """Return the number of searchable passages with a word, for any reader; deleted passages do not count."""
        ...

    def most(self, word: str) -> int:
        """Return an upper bound of the passages with a word, without delay; it may count some that were deleted."""
        ...

    def visible_frequency(self, word: str) -> int:
        """Return the exact number of visible passages with a word."""
        ...

    def known(self, words: Iterable[str]) -> set[str]:
        """Return those of the words that are, or were, in some passage."""
        ...

    def endings(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Return words with this beginning and their numbers of passages, which are exact for up to `MAX_COUNTED`
        words.
        """
        ...

    def tools(self) -> list[str]:
        """Return the names of tools, in lower case."""
        ...

    def count_by_chat(self, query: Node, files: Collection[int] | None = None) -> dict[int, int]:
        """Return the number of matching passages by chat."""
        ...

    def said_by_chat(self, query: Node) -> Mapping[int, ChatCount]:
        """Return the number of matching passages by chat, and the number of titles, prompts and answers among them."""
        ...

    def times_by_chat(self, query: Node, files: Collection[int] | None, *, oldest: bool) -> dict[int, float]:
        """Return the time of the newest matching passage by chat, or of the oldest."""
        ...

    def best(self, query: Node, limit: int, files: Collection[int] | None = None) -> list[Match]:
        """Return the best passages in order: by the worth of their matches (`worths`) times their `factor`."""
        ...

    def by_time(
        self, query: Node, limit: int, offset: int, files: Collection[int] | None, *, oldest: bool
    ) -> list[Match]:
        """Return the newest passages, or the oldest, in order."""
        ...

    def facts(self, query: Node, since: Mapping[str, int]) -> tuple[dict[str, FactCount], dict[str, int]]:
        """Count matching passages by fact, and those at or after each time, in microseconds."""
        ...

    def ages(self, chats: Iterable[int]) -> Mapping[int, int]:
        """Rank these chats by age: lower for one that was active later."""
        ...

    def sizes(self, chats: Iterable[int]) -> Mapping[int, int]:
        """Return the number of passages of each of these chats."""
        ...

    @property
    def usual_size(self) -> float:
        """The average number of passages of a chat."""
        ...


def most_of_a_rare_word(total: int) -> int:
    """Return the highest number of passages in which a word is still not frequent."""
    return max(NEVER_FREQUENT, total // FREQUENT)


def live_endings(engine: WordEngine, words: Sequence[str], limit: int) -> list[tuple[str, int]]:
    """Return those of `words`, at most `limit * SPARE`, that are in some passage; `limit` if there may be more."""
    if len(words) == limit * SPARE:
        return [(word, 0) for word in words[:limit]]
    engine.prepare(words)
    return [(word, frequency) for word in words if (frequency := engine.frequency(word))][:limit]


def said_among(count_by_chat: Callable[[Node], Mapping[int, int]], query: Node) -> dict[int, ChatCount]:
    """Count as `said_by_chat` does, in two steps."""
    said_counts = count_by_chat(EachOf((query, WAS_SAID)))
    return {chat: ChatCount(count, said_counts.get(chat, 0)) for chat, count in count_by_chat(query).items()}


WAS_SAID: Final = SomeOf(tuple(IsFact(f"role:{role}") for role in SAID_ROLES))
