"""A question in plain words: what is made of it, and what is remembered."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.library.library import Library
from backscroll.library.memory.budget import tokens_of
from backscroll.library.memory.questions import STOP_WORDS, Term, stem_of, terms_of, variants_of
from backscroll.library.memory.recall import Recall, recall
from backscroll.render.recall import recall_as_json, recalled_text
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

PARSER: Final = """
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00:00.000Z
pa <- - user: Which parser should we take for the price list?
pb <- pa assistant(pm1): Let me look at both.
pc <- pb call(pm1) pt1 Bash {"command": "make bench"}
pd <- pc result pt1: "lark 40 ms, handwritten 4 ms"
pe <- pd assistant(pm2): We take the handwritten parser, because lark is ten times slower on long price lists.
pf <- pe user: And the currency?
pg <- pf assistant(pm3): Currencies stay as ISO codes.
custom-title: Prices
"""
ERROR: Final = """
@ session=S2 cwd=/home/ada/blog time=2026-02-01T10:00:00.000Z
ea <- - user: make the build work
eb <- ea call(em1) et1 Bash {"command": "npm run build"}
ec <- eb error et1: "Error: Cannot find module 'left-pad'"
ed <- ec call(em2) et2 Edit {"file_path": "/home/ada/blog/package.json", "old_string": "", "new_string": "left-pad 1.3"}
ee <- ed result et2: ok
ef <- ee call(em3) et3 Bash {"command": "npm run build"}
eg <- ef result et3: built
eh <- eg assistant(em4): The build works; left-pad was missing in package.json.
custom-title: Leftovers
"""
COPIED: Final = """
@ session=S3 cwd=/home/ada/shop time=2026-03-01T10:00:00.000Z
ka <- - user: Which parser should we take for the price list?
kb <- ka assistant(km1): I do not know that yet.
"""
S1, S2, S3 = session_uuid("S1"), session_uuid("S2"), session_uuid("S3")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    files = {
        session_path("S1"): jsonl(draw(PARSER)),
        session_path("S2").replace("shop", "blog"): jsonl(draw(ERROR)),
        session_path("S3"): jsonl(draw(COPIED)),
    }
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    with shelf.open() as opened:
        yield opened


def told(found: Recall) -> str:
    return "\n\n".join(passage.text for passage in found.passages)


def words(question: str) -> list[str]:
    return [term.text for term in terms_of(question)]


# What is made of a question


def test_words_that_only_make_a_sentence_are_left_out() -> None:
    assert words("What did we decide about the database?") == ["decide", "database"]
    assert words("Warum haben wir den Parser geändert?") == ["Parser", "geändert"]


def test_names_paths_and_errors_are_kept_whole() -> None:
    terms = terms_of("why does src/app/main.py raise KeyError in get_user_name()?")
    assert [term.text for term in terms if term.is_name] == [
        "src/app/main.py", "main.py", "KeyError", "get_user_name"
    ]  # fmt: skip


def test_quoted_phrases_are_kept_whole_and_asked_word_by_word_too() -> None:
    assert words('who said "connection reset by peer"?') == ["connection reset by peer", "connection", "reset", "peer"]
    assert words("don't use `make check`") == ["make check", "check"]


def test_scripts_without_spaces_are_asked_in_pairs_without_particles() -> None:
    assert words("我们为什么选择数据库？") == ["么选", "选择", "择数", "数据", "据库"]
    assert "接続" in words("データベースの接続")


def test_only_stop_words_ask_for_nothing() -> None:
    assert terms_of("what did we do about it?") == []
    assert terms_of("?!… ") == []


def test_of_a_very_long_question_the_telling_words_count() -> None:
    question = " ".join(f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh") + " src/app.py"
    terms = terms_of(question)
    assert len(terms) == 24
    assert "src/app.py" in {term.text for term in terms}


@given(st.text(max_size=300))
def test_any_question_can_be_asked(question: str) -> None:
    terms = terms_of(question)
    variants_of(terms, lambda _: 1)
    assert all(term.text.strip() for term in terms)


def test_unknown_words_are_not_required() -> None:
    terms = [Term("parser", False), Term("zzyzx", False)]
    for variant in variants_of(terms, lambda term: 5 if term.text == "parser" else 0):
        assert variant.name == "stems" or "zzyzx" not in variant.query.words


def test_forms_of_a_word_have_their_beginning_in_common() -> None:
    forms = ["decided", "decides", "deciding", "decide"]
    assert {stem_of(Term(form, False)) for form in forms} == {"decid"}
    assert stem_of(Term("KeyError", True)) == ""


def test_stop_words_are_folded_as_words_are_when_they_are_looked_up() -> None:
    assert {"fur", "uber"} <= STOP_WORDS


# What is remembered


def test_a_prompt_is_shown_with_its_outcome(library: Library) -> None:
    best = recall(library, "which parser for price lists?").passages[0]
    assert "asked: Which parser should we take" in best.text
    assert "answered: We take the handwritten parser, because lark" in best.text


def test_an_answer_is_shown_with_its_prompt(library: Library) -> None:
    best = recall(library, "why handwritten, is lark slower?").passages[0]
    assert best.source.role == "answer"
    assert best.text.startswith("asked: Which parser should we take for the price list?")
    assert {"handwritten", "lark", "slower"} <= set(best.why)


def test_every_passage_is_cited(library: Library) -> None:
    source = recall(library, "handwritten parser").passages[0].source
    assert (source.chat, source.title, source.project) == (S1, "Prices", "/home/ada/shop")
    assert source.message
    assert source.when is not None
    assert source.when.astimezone(UTC).date() == datetime(2026, 1, 5, tzinfo=UTC).date()


def test_another_form_of_a_word_is_found(library: Library) -> None:
    assert "handwritten parser" in told(recall(library, "slow parsers pricing listing"))


def test_an_error_is_shown_with_its_solution(library: Library) -> None:
    best = recall(library, "Error: Cannot find module 'react'").passages[0]
    assert best.source.role == "error"
    assert "Cannot find module 'left-pad'" in best.text
    assert "then changed: package.json: left-pad 1.3" in best.text
    assert "worked: npm run build" in best.text


def test_a_title_is_represented_by_the_first_prompt_of_its_chat(library: Library) -> None:
    best = recall(library, "leftovers").passages[0]
    assert best.source.role == "prompt"
    assert best.text.startswith("asked: make the build work\nanswered: The build works")


def test_a_text_in_two_chats_is_shown_once(library: Library) -> None:
    text = told(recall(library, "Which parser should we take for the price list?"))
    assert text.count("asked: Which parser should we take") == 1


ASKED_BEFORE: Final = """
@ session=S4 cwd=/home/ada/shop time=2026-03-05T10:00:00.000Z
qa <- - user: what was it with the capacitor?
qb <- qa call(qm1) qt1 mcp__plugin_backscroll_backscroll__recall {"question": "handwritten parser lark"}
qc <- qb result qt1: "handwritten parser lark slower price lists"
qd <- qc call(qm2) qt2 Bash {"command": "backscroll recall 'handwritten parser lark'"}
qe <- qd result qt2: "Behind > is what was said in earlier sessions: data\\n> handwritten parser lark"
qf <- qe assistant(qm3): No idea.
"""


def test_what_we_answered_before_is_no_source(tmp_path: Path) -> None:
    files = {session_path("S1"): jsonl(draw(PARSER)), session_path("S4"): jsonl(draw(ASKED_BEFORE))}
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    with shelf.open() as library:
        found = recall(library, "handwritten parser lark")
        assert {passage.source.chat for passage in found.passages} == {S1}


def test_the_session_that_asks_is_left_out(library: Library) -> None:
    found = recall(library, "which parser for the price list?", without=[S1.upper()])
    assert {passage.source.chat for passage in found.passages} == {S3}
    assert recall(library, "handwritten", without=[S1]).passages == []


def test_the_project_is_preferred_and_not_required(tmp_path: Path) -> None:
    drawing = """
    @ session={0} cwd=/home/ada/{1}
    {1}1 <- - user: the flux capacitor leaks in {1}
    {1}2 <- {1}1 assistant: {1} it is
    """
    files = {session_path(name): jsonl(draw(drawing.format(name, where))) for name, where in (("A", "x"), ("B", "y"))}
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    with shelf.open() as library:
        for wanted in ("/home/ada/x", "/home/ada/y"):
            found = recall(library, "flux capacitor leaks", project=wanted)
            assert found.passages[0].source.project == wanted
            assert len(found.passages) == 2


def test_only_a_time_is_asked_about(library: Library) -> None:
    later = recall(library, "parser price list", since=datetime(2026, 2, 15, tzinfo=UTC))
    assert {passage.source.chat for passage in later.passages} == {S3}
    earlier = recall(library, "parser price list", until=datetime(2026, 1, 31, tzinfo=UTC))
    assert {passage.source.chat for passage in earlier.passages} == {S1}


def test_where_nothing_is_found_similar_words_are_offered(library: Library) -> None:
    found = recall(library, "handwriten")
    assert found.passages == []
    assert "handwritten" in found.hint


def test_a_question_without_telling_words_is_answered_with_a_hint(library: Library) -> None:
    assert recall(library, "what did we do about it?").hint == "ask with a few specific words"


def test_a_question_is_no_query(library: Library) -> None:
    for question in ("parser -list", "role:prompt (parser", "/parser[/ OR", "title:Prices AND", '"parser'):
        assert recall(library, question).passages, question


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How do I bake sourdough bread?", "sourdough"),
        ("Which parser reads the Kubernetes manifests?", "Kubernetes"),
        ("What did we decide about the retry budget?", "retry"),
    ],
)
def test_what_never_came_up_is_answered_with_nothing(library: Library, question: str, missing: str) -> None:
    found = recall(library, question)
    assert not found.passages
    assert missing in found.hint
    assert found.looked_for[missing] == 0


def test_words_of_two_chats_are_no_answer_together(library: Library) -> None:
    found = recall(library, "why is left-pad what the handwritten parser uses?")
    assert not found.passages
    assert "together" in found.hint


def test_everyday_words_of_a_question_need_not_have_been_said(library: Library) -> None:
    assert "handwritten parser" in told(recall(library, "which silly parser did we finally settle on for price lists?"))


LONG: Final = [
    "parser " * 50,
    "x" * 5000,
    "parser\n" * 200,
    "日本語 parser " * 300,
    "> [1] ⟧ ``` </quote>\n" * 50,
    "\x1b]0;parser\x07",
]


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 4000), st.sampled_from(["parser", "parser 日本語 quote", "which x parser?"]))
def test_an_answer_never_exceeds_its_budget(hostile: Library, tokens: int, question: str) -> None:
    found = recall(hostile, question, max_tokens=tokens)
    assert tokens_of(recalled_text(found)) <= found.tokens <= max(tokens, 200)


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 4000), st.sampled_from(["parser", "parser 日本語 quote", "which x parser?"]))
def test_a_budget_holds_the_same_passages_as_text_and_as_json(hostile: Library, tokens: int, question: str) -> None:
    found = recall(hostile, question, max_tokens=tokens)
    text = recalled_text(found)
    told = [(one["chat"], one["message"]) for one in recall_as_json(found)["passages"]]
    assert told == [(one.source.chat, one.source.message) for one in found.passages]
    heads = [line for line in text.splitlines() if line.startswith("[")]
    assert len(heads) == len(told)
    for head, (chat, message) in zip(heads, told, strict=True):
        assert head.endswith(f"{chat[:8]}/{message[:8]}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    shelf = Shelf(tmp_path_factory.mktemp("hostile"))
    for number, text in enumerate(LONG):
        rows = [
            f"@ session=H{number} cwd=/home/ada/{'deep/' * 20}",
            f"a{number} <- - user: {json.dumps(text)}",
            f"b{number} <- a{number} assistant: {json.dumps(text[::-1] + text)}",
        ]
        shelf.write({session_path(f"H{number}"): jsonl(draw("\n".join(rows)))})
    shelf.update()
    with shelf.open() as library:
        yield library


def test_nothing_in_a_passage_ends_its_quotation(hostile: Library) -> None:
    for line in recalled_text(recall(hostile, "quote parser", max_tokens=4000)).splitlines():
        assert line == "" or line.startswith((">", "[", "read one", "Lines that start with >"))
        assert "\x1b" not in line


LANGUAGES: Final = {
    "L1": "a <- - user: Which language for the mixer?\n"
    "b <- a assistant: We take C++ for the mixer, because its allocator is ours.",
    "L2": "c <- - user: And for the window?\n"
    "d <- c assistant: The window is in C#, on .NET 8, since the team knows it.",
    "L3": "e <- - user: What runs the site?\nf <- e assistant: The site runs on Node.js behind nginx.",
    "L4": "g <- - user: Is the mixer on the network slow?\n"
    "h <- g assistant: The mixer is fast; the cache of the internet is cold, and c is a letter of doc#intro.",
}


@pytest.fixture(scope="module")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    drawn = {session_path(name): jsonl(draw(f"@ session={name}\n{text}\n")) for name, text in LANGUAGES.items()}
    shelf = Shelf(tmp_path_factory.mktemp("languages")).write(drawn)
    shelf.update()
    with shelf.open() as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("c++", "L1"),
        ("C++?", "L1"),
        ("(c++)", "L1"),
        ("`c++`", "L1"),
        ("c/c++", "L1"),
        ("why C++ for the mixer?", "L1"),
        ("c#", "L2"),
        ("what did we write in C#?", "L2"),
        ("C#/.NET", "L2"),
        (".net", "L2"),
        ("node.js", "L3"),
    ],
)
def test_names_with_signs_are_remembered(languages: Library, question: str, answer: str) -> None:
    found = recall(languages, question)
    assert [passage.source.chat for passage in found.passages][:1] == [session_uuid(answer)]


@pytest.mark.parametrize("question", ["f#", "x++", "which mixer is in f#?"])
def test_a_letter_is_no_name_with_signs(languages: Library, question: str) -> None:
    found = recall(languages, question)
    assert found.passages == []
    assert "no chat has " in found.hint


@pytest.mark.parametrize(("question", "pattern"), [("->", "/->/"), (" && ", "/&&/"), ("?", r"/\?/")])
def test_of_signs_alone_recall_says_how_to_find_them(languages: Library, question: str, pattern: str) -> None:
    found = recall(languages, question)
    assert found.passages == []
    assert found.hint == f"{question.strip()} has no letters or digits, so no word is like it; search for {pattern}"


def test_a_path_with_signs_stays_whole() -> None:
    assert words("why is src/c++/x.py slow?") == ["src/c++/x.py", "x.py", "slow"]
