"""Whether a passage can answer a question: which words must be in it, and how near to each other."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.conversation.passages import Role
from backscroll.library.memory.everyday_words import is_everyday
from backscroll.library.memory.evidence import LONG_PROMPT, TOGETHER, Evidence, Forms, is_list
from backscroll.library.memory.questions import Term, terms_of

CHATS = 100
SAID = "We notarize the Linux archive with minisign, because the runner has no keychain."


def evidence(question: str, **chats: int) -> Evidence:
    """Words that are not named are in two chats of a hundred."""
    return Evidence(question, {term: chats.get(term.text, 2) for term in terms_of(question)}, CHATS)


def test_every_telling_word_must_be_there() -> None:
    assert evidence("How do we notarize the archive?").supports(SAID)
    assert not evidence("How do we notarize the macOS archive?").supports(SAID)


def test_words_that_most_chats_have_may_be_missing() -> None:
    question = "Which test says how we notarize the archive with minisign?"
    assert evidence(question, test=90).supports(SAID)
    assert not evidence(question, test=2).supports(SAID)


def test_everyday_words_do_not_count() -> None:
    assert evidence("Why did we eventually choose to notarize this silly archive?").supports(SAID)


def test_an_everyday_word_with_a_capital_is_a_name() -> None:
    assert evidence("What did we settle in linear about minisign?").telling == {"linear", "minisign"}
    assert evidence("How did the global minisign fail?").telling == {"global", "minisign"}
    assert evidence("What does the fancy minisign cost?").telling == {"minisign"}
    assert evidence("What does the Fancy minisign cost?").telling == {"Fancy", "minisign"}


def test_words_far_from_each_other_are_not_together() -> None:
    near, far = "archive " + "." * (TOGETHER // 2) + " minisign", "archive " + "." * (TOGETHER * 2) + " minisign"
    asked = evidence("which archive, minisign?")
    assert asked.supports(near)
    assert not asked.supports(far)


def test_the_title_of_a_chat_is_part_of_its_passages() -> None:
    assert evidence("which archive, minisign?").supports("minisign", "The archive")
    assert evidence("archive").supports("nothing of it", "The archive")


def test_the_output_of_a_tool_is_no_evidence_and_its_input_only_with_all_words() -> None:
    question = "Why does the runner notarize the archive with minisign?"
    asked = evidence(question, runner=60)
    text = "notarize archive minisign"
    assert asked.supports(text)
    assert not asked.supports(text, role=Role.OUTPUT)
    assert not asked.supports(text, role=Role.INPUT)
    assert asked.supports(f"{text} runner", role=Role.INPUT)


def test_what_is_pasted_into_a_prompt_is_evidence_only_with_all_words() -> None:
    asked = evidence("Why does the runner notarize the archive with minisign?", runner=60)
    text = "notarize archive minisign"
    assert asked.supports(text, role=Role.PROMPT)
    assert not asked.supports(text + "." * LONG_PROMPT, role=Role.PROMPT)
    assert asked.supports(f"{text} runner" + "." * LONG_PROMPT, role=Role.PROMPT)


def test_of_three_words_none_may_be_missing() -> None:
    question = "Why does the ledger refuse negative balances?"
    asked = evidence(question, ledger=20, negative=10, balances=10)
    assert asked.supports("The ledger has no negative balance")
    assert not asked.supports("The ledger has a balance")
    assert not evidence("What does the checkpoint service do?", checkpoint=60).supports("service_tier: standard")
    assert evidence("What does the checkpoint service do?", checkpoint=60).supports("The service of checkpoints")


def test_with_all_names_there_fewer_words_are_enough() -> None:
    question = "Why did the migration trip over index.lock?"
    assert evidence(question, migration=20, trip=10).supports("index.lock is in the way of the migration")
    assert not evidence(question, migration=20, trip=10).supports("The migration has a lock")


def test_names_do_not_make_up_for_a_telling_word_that_is_missing() -> None:
    question = "After how long does the dashboard reconnect its webSocket?"
    assert not evidence(question, dashboard=10).supports("The dashboard streams through a webSocket")
    assert evidence(question, dashboard=10).supports("The dashboard has a webSocket that reconnects")


def test_a_proper_name_must_be_there_even_if_many_chats_have_it() -> None:
    question = "How do we test the upload queue with Linear and a proxy?"
    chats = {"test": 60, "upload": 5, "queue": 5, "Linear": 60, "proxy": 5}
    assert not evidence(question, **chats).supports("test the upload queue with a proxy")
    assert evidence(question, **chats).supports("test the upload queue for Linear with a proxy")


def test_what_only_tools_printed_does_not_make_a_word_common() -> None:
    question = "Which staging server runs the archive with minisign?"
    terms = terms_of(question)
    printed = {term: 60 if term.text in ("staging", "server") else 2 for term in terms}
    said = dict.fromkeys(terms, 2)
    text = "the archive is signed with minisign"
    assert Evidence(question, printed, CHATS, said).telling == {"staging", "server", "archive", "minisign"}
    assert not Evidence(question, printed, CHATS, said).supports(text)
    assert Evidence(question, printed, CHATS).supports(text)


def test_a_number_in_a_question_is_a_whole_one() -> None:
    asked = evidence("Which release was 2.0?", release=90)
    assert asked.supports("the release of 2.0")
    for other in ("2026", "12.0", "2.0.1", "1.2.0", "20"):
        assert not asked.supports(f"the release of {other}")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("flaky test", True),
        ("parser.py changed: yarrow sedge rush", True),
        ("what did we do about yarrow sedge rush reed?", True),
        ("what did we do about yarrow and sedge?", False),
        ("Why does the shop refuse payments?", False),
        ("Why does the ledger reject negative balances?", False),
        ("wie läuft der Test?", False),
        ("conda 环境叫什么名字", False),
    ],
)
def test_a_list_of_keywords_is_no_question(question: str, expected: bool) -> None:
    assert is_list(question) is expected


def test_of_a_list_of_keywords_half_is_enough() -> None:
    assert evidence("yarrow sedge archive minisign").supports(SAID)
    assert not evidence("yarrow sedge rush minisign").supports(SAID)
    assert not evidence("yarrow.py archive minisign sedge").supports(SAID)


def test_many_rare_words_are_enough_by_themselves() -> None:
    question = "Why has the runner no keychain, minisign, archive and Linux but yarrow?"
    assert evidence(question).supports(SAID)
    assert not evidence("Why has the runner no archive but yarrow?").supports(SAID)


def test_pasted_text_needs_a_name_only() -> None:
    pasted = "INFO transition component session_id b1a154f4 event TurnStart strategy phase worker queue lease"
    assert evidence(pasted).supports("It was TurnStart.", role=Role.OUTPUT)
    assert not evidence(pasted).supports("Something else.")


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("migration", "migrated"), ("condensed", "condensing"), ("concurrency", "concurrent"), ("policies", "policy"),
        ("parsers", "parser"), ("redact", "redaction"), ("organization", "organize"), ("mails", "mail"),
    ],
)  # fmt: skip
def test_a_word_may_have_another_form(word: str, form: str) -> None:
    assert form in Forms(Term(word, False)).all
    assert evidence(word).supports(f"the {form}, of course")


@pytest.mark.parametrize(("word", "other"), [("viewer", "view"), ("installer", "install"), ("theme", "them")])
def test_another_word_is_not_another_form(word: str, other: str) -> None:
    assert other not in Forms(Term(word, False)).all
    assert not evidence(word).supports(f"the {other}, of course")


def test_a_word_is_found_inside_a_name_but_not_inside_a_word() -> None:
    assert evidence("transcript").supports("countTranscriptLines")
    assert evidence("transcript").supports("count_transcript_lines")
    assert not evidence("port").supports("important")


def test_pairs_of_characters_need_not_all_be_there() -> None:
    chats = {"数据": 2, "据库": 2, "连接": 2, "接池": 0}
    assert evidence("数据库连接池", **chats).supports("数据库连接")
    assert not evidence("数据库连接池", **chats).supports("数据")


def test_a_question_in_another_script_is_answered_by_its_names() -> None:
    assert evidence("conda 环境叫什么名字", 环境=0, 境叫=0, 名字=0, 叫什=0, 么名=0).supports("conda activate aie311")


def test_of_a_german_question_about_english_chats_the_nouns_count() -> None:
    asked = evidence("Was muss ich tun, um den Shop in Docker zu starten?", tun=0, starten=0)
    assert asked.telling == {"Shop", "Docker"}
    assert not evidence("Wie teuer ist der Versand in Docker?", teuer=0, Versand=0).supports("Docker runs")


def test_an_everyday_word_includes_its_forms() -> None:
    for word in ("choked", "stopping", "silliest", "tries", "vaguely", "decided"):
        assert is_everyday(word), word
    for word in ("settings", "meeting", "seed", "kubernetes", "penguin", "invoice", "server"):
        assert not is_everyday(word), word


WORDS = st.lists(st.sampled_from("archive minisign runner keychain silly test 数据库 common.go".split()), min_size=1)


@given(WORDS, st.lists(st.integers(0, CHATS), min_size=8, max_size=8))
def test_the_question_itself_is_always_evidence(words: list[str], counts: list[int]) -> None:
    question = " ".join(words)
    chats = {term: counts[at % len(counts)] for at, term in enumerate(terms_of(question))}
    text = " ".join(dict.fromkeys(words))
    assert Evidence(question, chats, CHATS).supports(text)


@given(WORDS, WORDS, WORDS)
def test_more_text_is_never_less_evidence(question: list[str], text: list[str], more: list[str]) -> None:
    asked = evidence(" ".join(question))
    if asked.supports(" ".join(text)):
        assert asked.supports(" ".join([*text, *more]))
        assert asked.supports(" ".join([*more, *text]))


@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=40))
def test_any_text_can_be_evidence(question: str, text: str, title: str) -> None:
    asked = evidence(question)
    asked.supports(text, title)
    assert asked.telling <= {term.text for term in terms_of(question)}


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_a_word_is_a_form_of_itself_and_all_forms_begin_alike(word: str) -> None:
    forms = Forms(Term(word, False))
    assert word in forms.all
    assert all(form.startswith(forms.root) for form in forms.all)
    assert all(first < second for first, second in pairwise(forms.all))
