"""The words of a text, and what a passage is worth by who said it: the same in every engine."""

from collections.abc import Iterable, Iterator
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from backscroll.conversation.passages import Role
from backscroll.query.words import LONGEST_WORD, normal
from backscroll.store.base import PendingPassage

STAGES: Final = (
    (Role.TITLE, Role.PROMPT, Role.ANSWER, Role.THINKING),
    (Role.INPUT, Role.OUTPUT, Role.OTHER),
)
"""The stages of indexing, in order."""
SAID_ROLES: Final = (Role.TITLE, Role.PROMPT, Role.ANSWER)
"""What people and the model said to each other; the rest counts less for a chat as a whole."""
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


def words_of(text: str) -> list[str]:
    """The words of a text, as it is cut into them for the index."""
    return list(WORDS.analyze(normal(text)))


def weight_of(role: Role, *, is_agent: bool) -> float:
    """How much a match counts, at least 1."""
    return max(1.0, WEIGHTS[role] * (AGENT_WEIGHT if is_agent else 1.0))


def facts_of(spot: PendingPassage) -> Iterator[str]:
    """What is known of a passage besides its words."""
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
    """Whether the name of the tool is one that people look for."""
    return bool(spot.tool) and "__" in (spot.tool or "") and spot.role is Role.INPUT


def quoted(roles: Iterable[Role]) -> str:
    """Roles as SQL lists them."""
    return ", ".join(f"'{role}'" for role in roles)


def analyzer() -> TextAnalyzer:
    """Cuts a text into words: runs of letters and digits, in lower case, without accents."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD * 4 + 1))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


WORDS: Final = analyzer()
