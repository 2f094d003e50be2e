"""The data of the relevance benchmark is valid: its chats exist, its halves share none, and no query is a quotation."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from bench.relevance.asked import HALVES, KINDS, NEARNESS, PARTS, half_of, queries, questions
from bench.relevance.engines import plain
from bench.relevance.home import RECORDINGS, build_home
from bench.relevance.scores import rank_of, score

COPIED = 6
"""This many consecutive words from the chat are a quotation, not a half-remembered query."""


def test_there_are_enough_queries_of_every_kind_in_every_part() -> None:
    asked = queries()

    assert len(asked) >= 150
    assert all({query.kind for query in asked if query.half == part} == set(KINDS) for part in PARTS)
    assert len({query.text for query in asked}) == len(asked)
    assert all(sum(query.half == part for query in asked) >= 75 for part in PARTS)
    assert max(Counter((query.half, query.chats[0]) for query in asked).values()) <= 4


def test_there_are_enough_questions_with_and_without_an_answer_in_both_halves() -> None:
    asked = questions()
    answerable = [question for question in asked if question.facts]
    unanswerable = [question for question in asked if not question.facts]

    assert len(answerable) >= 60
    assert len(unanswerable) >= 60
    assert {question.kind for question in unanswerable} == set(NEARNESS)
    assert sum(question.kind == "near" for question in unanswerable) > len(unanswerable) / 2
    assert all(sum(question.half == part for question in unanswerable) >= 40 for part in PARTS)
    assert all(sum(question.half == part for question in answerable) >= 40 for part in PARTS)
    assert len({question.text for question in asked}) == len(asked)


def test_a_chat_is_in_one_half_only() -> None:
    chats: dict[str, set[str]] = {half: set() for half in HALVES}
    for query in queries():
        if query.half in chats:
            chats[query.half].update(query.chats)
    for question in questions():
        if question.half in chats:
            chats[question.half].add(question.chat)

    assert chats["tune"] & chats["report"] <= {""}
    assert all(half_of(chat) == half for half, found in chats.items() for chat in found if chat)


def test_no_question_gives_its_fact_away() -> None:
    given = [
        question.text for question in questions() for fact in question.facts if plain(fact) in plain(question.text)
    ]

    assert given == []


@pytest.fixture(scope="module")
def texts(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Everything that stands in each chat, by the names that queries have for it."""
    home = tmp_path_factory.mktemp("relevance") / "home"
    sessions = build_home(corpus, home)
    files = {path.stem: path for path in (home / "projects").rglob("*.jsonl")}
    asked = {chat for query in queries() for chat in query.chats} | {question.chat for question in questions()} - {""}
    assert asked <= sessions.keys()
    return {chat: [text for name in sessions[chat] for text in _strings_in(files[name])] for chat in sorted(asked)}


def _strings_in(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield from _strings(json.loads(line))
        except ValueError:
            yield line


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


@pytest.mark.all
def test_no_query_is_copied_from_its_chat(texts: Mapping[str, list[str]]) -> None:
    copied = []
    for chat, said in texts.items():
        runs = {
            f" {' '.join(words[start : start + COPIED])} ": query.text
            for query in queries()
            if chat in query.chats
            for words in [_words(query.text)]
            for start in range(len(words) - COPIED + 1)
        }
        if runs:
            text = f" {' '.join(_words(' | '.join(said)))} "
            copied += [query for run, query in runs.items() if run in text]

    assert copied == []


@pytest.mark.all
def test_every_fact_is_in_its_chat(texts: Mapping[str, list[str]]) -> None:
    missing = []
    for chat, said in texts.items():
        if facts := [fact for question in questions() if question.chat == chat for fact in question.facts]:
            text = plain("\n".join(said))
            missing += [(chat, fact) for fact in facts if plain(fact) not in text]

    assert missing == []


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def test_every_recording_that_is_asked_about_exists() -> None:
    named = {chat.partition("/")[2] for query in queries() for chat in query.chats if chat.startswith("recording/")}

    assert named
    assert named <= {path.name for path in RECORDINGS.iterdir()}


def test_the_figures_are_of_the_first_ten_chats() -> None:
    assert rank_of(["b"], ["a", "a", "b"]) == 2
    assert rank_of(["b"], [*map(str, range(10)), "b"]) is None

    found = score("engine", "tune", "typo", [1, 2, 4, None])

    assert (found.r1, found.r3, found.r10, found.mrr) == (0.25, 0.5, 0.75, (1 + 0.5 + 0.25) / 4)
