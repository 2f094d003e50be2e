"""Every word that was said, thought, run or returned is found, with its session."""

import json
import shutil
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path
from tests.support.samples import TRY_ALL
from tests.support.words import RareWord, rare_words

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "transcripts"


def missed(library: Library, words: Iterable[RareWord]) -> list[RareWord]:
    """The words that are not found where they stand."""
    return [word for word in words if not word.sessions & sessions_with(library, word.word)]


def sessions_with(library: Library, word: str) -> set[str]:
    return {session for chat in library.search(word, hits=1).chats for session in chat.chat.overview.sessions}


@pytest.mark.all
def test_every_rare_word_of_real_sessions_is_found(corpus: Path, corpus_library: Library) -> None:
    words = rare_words(corpus / "home", 250 if TRY_ALL else 25, seed=1)
    assert len(words) > 150
    assert missed(corpus_library, words) == []


@pytest.mark.parametrize("version", ["1.0.126", "2.0.76", "2.1.325"])
def test_every_rare_word_of_what_the_client_recorded_is_found(version: str, tmp_path: Path) -> None:
    kinds = set()
    not_found = []
    for home in sorted((FIXTURES / version).iterdir()):
        words = rare_words(home, 25, seed=1)
        kinds |= {word.kind for word in words}
        settings = Settings(homes=(home,), library=tmp_path, file=tmp_path / "settings.toml")
        with local_library(settings, [Home(home)], index=tmp_path / home.name) as library:
            library.update()
            not_found += missed(library, words)
    assert not_found == []
    assert kinds >= {"prompt", "answer", "tool-input", "tool-output"}
    assert version < "2.1" or kinds >= {"attachment", "system"}


# Words of which we know that they are there, because we put them there.

EVERYWHERE: Final = """
@ time=2026-01-05T10:00
a <- - user: [{"type": "text", "text": "promptword"}, {"type": "document", "source": {"type": "text", \
    "media_type": "text/plain", "data": "documentword"}, "title": "documenttitle"}]
b <- a thinking(m1): thinkingword
c <- b assistant(m1): answerword fetchCamelfoalNow HTTPServerfoal snake_snakefoal dotted.dotfoal /a/b/pathfoal.py
d <- c call(m1) t1 Bash {"command": "echo inputword", "odd_fieldword": {"deep": ["deepword", 4711123]}}
e <- d result t1: [{"type": "text", "text": "outputword"}, {"type": "text", "text": "secondoutputword"}]
f <- e call(m2) t2 mcp__shop__find {"query": "toolword"}
g <- f error t2: errorword
h <- g system informational: systemword
i <- h attachment queued_command: queuedword
j <- i attachment diagnostics: attachedword
k <- j system api_error {"error": {"message": "apiword"}, "content": null}
l <- - compact(logical=k) auto
m <- l compact-summary: summaryword
n <- m user: <bash-input>shellword</bash-input>
o <- n user: <local-command-stdout>stdoutword</local-command-stdout>
p <- o meta: metaword
q <- p assistant: [{"type": "hologram", "shape": "unknownblockword"}, {"type": "server_tool_use", "id": "s1", \
    "name": "web_search", "input": {"query": "serverword"}}, {"type": "web_search_tool_result", "tool_use_id": "s1", \
    "content": [{"type": "web_search_result", "title": "webword", "url": "https://webhost.org", \
    "encrypted_content": "sealed"}]}]
r <- p user: abandonedword
s <- r assistant: abandonedanswer
raw {"type": "hologram-state", "uuid": "t", "parentUuid": "q", "cells": "unknownrecordword"}
queue-operation enqueue: enqueuedword
custom-title: customtitleword
ai-title: aititleword
last-prompt q
"""
WORDS: Final = """
promptword documentword documenttitle thinkingword answerword camelfoal serverfoal snakefoal dotfoal pathfoal inputword
fieldword deepword 4711123 outputword secondoutputword toolword errorword systemword queuedword attachedword apiword
summaryword shellword stdoutword metaword unknownblockword serverword webword webhost abandonedword abandonedanswer
unknownrecordword enqueuedword customtitleword aititleword agentword agentresult inlineword spilledword
spilledjson hookword
"""


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("everywhere"))
    folder = session_path("S1").removesuffix(".jsonl")
    agent = draw('x <- - user: agentword\ny <- x call(m9) t9 Bash {"command": "agentresult"}', agent="a1")
    inline = draw("z <- - user: inlineword", agent="inline")
    shelf.write(session_file("S1", EVERYWHERE)).append("S1", jsonl(inline))
    shelf.write(session_file("S2", "other <- - user: something else"))
    return shelf.write({
        f"{folder}/subagents/agent-a1.jsonl": jsonl(agent),
        f"{folder}/tool-results/t1.txt": "spilledword\n",
        f"{folder}/tool-results/t2.json": json.dumps([{"type": "text", "text": "first\nspilledjson\tlast"}]),
        f"{folder}/tool-results/hook-1": "hookword\n",
    })  # fmt: skip


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_word_is_found_at_any_position(everywhere: Shelf, is_archived: bool) -> None:
    if is_archived:
        everywhere.update()
        shutil.rmtree(everywhere.home / "projects")
        (everywhere.home / "projects").mkdir()
        shutil.rmtree(everywhere.index)
    everywhere.update()
    with everywhere.open() as library:
        found = {word: session_uuid("S1") in sessions_with(library, word) for word in WORDS.split()}
        assert [word for word, is_found in found.items() if not is_found] == []
        assert [word for word in ("sealed", "nowhere") if library.search(word).total] == []


SCRIPTS: Final = {
    "Chinese": (0x4E00, 0x4E01),
    "Japanese": (0x3042, 0x3093),
    "katakana": (0x30A2, 0x30F3),
    "Korean": (0xAC00, 0xAC01),
    "Thai": (0x0E02, 0x0E2D),
    "Lao": (0x0E82, 0x0EAD),
    "Khmer": (0x1781, 0x17A2),
    "rare Chinese": (0x20001, 0x20000),
}
"""Where letters begin, and one of them that stands between the words."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_two_characters_are_enough_where_words_have_no_spaces(tmp_path: Path, script: str) -> None:
    begin, between = SCRIPTS[script]
    letters = [chr(code) for code in range(begin, begin + 40) if chr(code).isalpha() and code != between][:12]
    words = ["".join(pair) for pair in product(letters[:6], letters[6:])]
    shelf = Shelf(tmp_path)
    for number in range(4):
        text = chr(between).join(words[number::4])
        shelf.write(
            session_file(f"S{number}", f"a{number} <- - user: go\nb{number} <- a{number} assistant: v2{text}ok")
        )
    shelf.update()
    with shelf.open() as library:
        found = {word: sessions_with(library, word) for word in words}
        beside = sessions_with(library, "v2"), sessions_with(library, "ok")
    assert found == {word: {session_uuid(f"S{at % 4}")} for at, word in enumerate(words)}
    assert [len(sessions) for sessions in beside] == [4, 4]


def test_every_word_of_a_spilled_result_of_several_megabytes(tmp_path: Path) -> None:
    words = [f"w{number:x}ord" for number in range(320_000)]
    ends = (" ", "\n", ", ", "\t", "-")
    text = "".join(word + ends[number % 5] for number, word in enumerate(words))
    assert len(text) > 3_000_000
    shelf = Shelf(tmp_path)
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write(session_file("S1", 'a <- - user: go\nb <- a call(m1) t1 Bash {"command": "ls"}'))
    shelf.write({f"{folder}/tool-results/t1.txt": text}).update()
    with shelf.open() as library:
        assert [word for word in words[::1009] if not library.search(word, hits=1).total] == []
