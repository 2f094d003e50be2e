"""The words and facts of a passage, and its factor by role and length, for every engine."""

from collections.abc import Iterable, Iterator
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from backscroll.conversation.passages import Role
from backscroll.query.words import LONGEST_WORD, normal
from backscroll.store.base import PendingPassage
from backscroll.store.search.worths import exact

STAGES: Final = (
    (Role.TITLE, Role.PROMPT, Role.ANSWER, Role.THINKING),
    (Role.INPUT, Role.OUTPUT, Role.OTHER),
)
"""The stages of indexing, in order."""
SAID_ROLES: Final = (Role.TITLE, Role.PROMPT, Role.ANSWER)
"""The dialogue of people and the model; the rest counts less for a chat as a whole."""
WEIGHTS: Final = {
    Role.TITLE: 2.6,
    Role.PROMPT: 2.2,
    Role.ANSWER: 1.9,
    Role.THINKING: 1.5,
    Role.INPUT: 1.3,
    Role.OUTPUT: 1.15,
    Role.OTHER: 1.05,
}
"""The weight of a match by role: text from the client itself (reminders, lists of skills, hooks) counts least."""
ROLE_FACTS: Final = {role: f"role:{role}" for role in Role}
AGENT_WEIGHT: Final = 0.9
HALVED: Final = 3000
"""The number of characters at which a passage counts half of a very short one. Chosen with bench/relevance."""
SHORT: Final = 1.7
"""The factor of a very short passage, relative to a chat as a whole."""
LEAST_FACTOR: Final = 1 / 16
"""The least factor of a passage, however long it is."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, cut as for the index."""
    return list(WORDS.analyze(normal(text)))


def factor_of(spot: PendingPassage, length: int) -> float:
    """Return the factor of a passage's matches, by its role and its length in characters."""
    weight = max(1.0, WEIGHTS[spot.role] * (AGENT_WEIGHT if spot.is_agent else 1.0))
    return exact(max(LEAST_FACTOR, weight * SHORT / (1 + length / HALVED)))


def facts_of(spot: PendingPassage) -> Iterator[str]:
    """Yield the facts of a passage besides its words."""
    yield ROLE_FACTS[spot.role]
    if spot.tool:
        yield f"tool:{spot.tool.lower()}"
    if spot.is_error:
        yield "error"
    if spot.is_agent:
        yield "agent"
    if spot.has_image:
        yield "image"


def is_searched_by_tool(spot: PendingPassage) -> bool:
    """Whether the name of the tool is one that people search for."""
    return bool(spot.tool) and "__" in (spot.tool or "") and spot.role is Role.INPUT


def quoted(roles: Iterable[Role]) -> str:
    """Return the roles as a list in SQL."""
    return ", ".join(f"'{role}'" for role in roles)


def analyzer() -> TextAnalyzer:
    """Return an analyzer that cuts a text into words: runs of letters and digits, in lower case, without accents."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD * 4 + 1))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


WORDS: Final = analyzer()
