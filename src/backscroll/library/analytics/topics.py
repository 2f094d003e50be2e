"""Topics of chats: words that stand out in a project or period, compared with everything else.

The words are those of prompts and titles. A word stands out where more of the prompts have it than elsewhere: words are
ranked by the logarithm of the odds of the two, divided by its standard error. Both sides are drawn towards the share in
everything, so that a word with two or three uses does not come before a frequent one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import log, sqrt
from typing import Any, Final, NamedTuple

from backscroll.library.analytics.moments import LeftOutRows, by_chat, local, time_of, within
from backscroll.library.analytics.periods import PERIODS, names_in_order
from backscroll.library.analytics.prompts import LONGEST_TEXT
from backscroll.library.analytics.reports import Report, ReportRequest, reports_about
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.query.little_words import LITTLE_WORDS
from backscroll.query.snippets import fold
from backscroll.query.words import normal, split_scripts, unspaced_words

DIMENSIONS: Final = ("project", "week", "month")
COLUMNS: Final = ("word", "chats", "prompts", "here_share", "elsewhere_share", "score")
WORDS: Final = 10
"""Largest number of words of a group."""
LEAST_CHATS: Final = 2
"""A word in one chat only may be a name that was pasted."""
LEAST_SCORE: Final = 1.0
"""Words with a lower score may well be chance."""
PRIOR: Final = 10.0
"""Number of prompts with the share of everything that are added to both sides."""


class PromptWords(NamedTuple):
    """The words of a prompt, and of its chat's title if it is the chat's first."""

    chat: str
    project: str
    time: int
    words: frozenset[str]


class TopicWord(NamedTuple):
    """A word that stands out in a group."""

    word: str
    chats: int
    prompts: int
    share: float
    elsewhere: float
    score: float


def topics(library: Library, asked: ReportRequest, by: str = "project") -> Report:
    """Return the words that stand out in each group, the clearest first."""
    titles = library.titles()
    every = list(_prompts(library, ReportRequest(), titles))
    is_all = asked.query is None and asked.since is None and asked.until is None
    chosen = every if is_all else list(_prompts(library, asked, titles))
    groups: dict[str, list[PromptWords]] = defaultdict(list)
    for prompt in chosen:
        groups[PERIODS[by](local(asked, prompt.time)) if by in PERIODS else prompt.project].append(prompt)
    counted = Counter(word for prompt in every for word in prompt.words)
    rows: list[tuple[Any, ...]] = []
    for name in names_in_order(groups, by, len):
        rows += [(name, *word) for word in standing_out(groups[name], counted, len(every))]
    facts = {"prompts": len(chosen), "all_prompts": len(every), "groups": len(groups)}
    return Report((by, *COLUMNS), rows, facts, _notes(facts, by))


def standing_out(group: Iterable[PromptWords], counted: Counter[str], whole: int) -> list[TopicWord]:
    """Return the words that stand out in a group; `counted` has the number of prompts with each word, of all groups."""
    here: Counter[str] = Counter()
    chats: dict[str, set[str]] = defaultdict(set)
    size = 0
    for prompt in group:
        size += 1
        here.update(prompt.words)
        for word in prompt.words:
            chats[word].add(prompt.chat)
    other = whole - size
    if not other:
        return []
    topic_words = []
    for word, number in here.items():
        if len(chats[word]) < LEAST_CHATS:
            continue
        rest = counted[word] - number
        score = log_odds(number, size, rest, other)
        if score >= LEAST_SCORE:
            topic_words.append(TopicWord(word, len(chats[word]), number, number / size, rest / other, score))
    return sorted(topic_words, key=lambda topic: (-topic.score, topic.word))[:WORDS]


def log_odds(here: int, size: int, rest: int, other: int) -> float:
    """Return how clearly `here` of `size` is a larger share than `rest` of `other`; negative if it is smaller."""
    share = (here + rest) / (size + other)
    if share in (0, 1):
        return 0.0
    with_word, without = PRIOR * share, PRIOR * (1 - share)
    ours, theirs = here + with_word, rest + with_word
    odds = log(ours / (size - here + without)) - log(theirs / (other - rest + without))
    return odds / sqrt(1 / ours + 1 / theirs)


def words_of(text: str) -> Iterator[str]:
    """Yield the words that show a topic: no little words, no paths, no tags, no numbers."""
    for token in TOKEN.findall(fold(normal(PATHS.sub(" ", MARKS.sub(" ", text))))):
        for part, is_unspaced in split_scripts(token):
            if is_unspaced:
                yield from (word for word in unspaced_words(part) if len(word) > 1)
            elif len(part) > 2 and part not in LITTLE_WORDS and part not in TALK and sum(map(str.isdigit, part)) <= 2:
                yield part


def _prompts(library: Library, asked: ReportRequest, titles: dict[str, str]) -> Iterator[PromptWords]:
    inside = within(asked)
    for rows in by_chat(reports_about(library, asked).prompt_moments(), LeftOutRows()):
        title = titles.get(rows[0].chat_id, "")[:LONGEST_TEXT]
        for row in rows:
            if row.kind == "interruption":
                continue
            text, title = f"{row.text or ''} {title}", ""
            if inside(time_of(row)):
                yield PromptWords(row.chat_id, row.project or "-", time_of(row), frozenset(words_of(text)))


def _notes(facts: dict[str, int], by: str) -> list[str]:
    whole = "everything else" if facts["prompts"] == facts["all_prompts"] else "all other chats and times"
    return [
        (
            f"{count(facts['prompts'], 'prompt')} by {by}, compared with {whole}: "
            f"{count(facts['all_prompts'], 'prompt')} in all"
        ),
        (
            f"at most {WORDS} words each, in {LEAST_CHATS} chats or more; score: the log odds of the two shares, "
            "divided by their standard error"
        ),
        (
            f"the words of prompts (their first {LONGEST_TEXT} characters) and titles, without little words, paths and "
            "numbers"
        ),
    ]


TALK: Final = frozenset(
    "actually another both good great hmm instead keep like look looks maybe need okay one really right see sure thank "
    "thanks think two want well yeah yep yes".split()
)
"""Words of all conversations. A search may be about them; a topic is not."""
TOKEN: Final = re.compile(r"[^\W\d_]\w*(?:-\w+)*")
MARKS: Final = re.compile(r"<[^<>\n]{1,80}>|\[(?:Image|Pasted)[^\]\n]*\]")
"""Tags, and placeholders of pictures and pasted texts."""
PATHS: Final = re.compile(r"\S*[/\\]\S*")
"""Paths and web addresses."""
