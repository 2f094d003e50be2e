"""Saved recalls: files that people can read, edit and break, found again where they answer a question."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import NothingFound, UsageError
from backscroll.library.memory.citations import Citation, RecalledPassage, cost_of
from backscroll.library.memory.evidence import Evidence
from backscroll.library.memory.questions import terms_of
from backscroll.library.memory.recall import recall
from backscroll.library.memory.saved_recalls import (
    ROLE,
    SavedRecall,
    as_markdown,
    find_recall,
    passages_of_recalls,
    recalls_folder,
    recalls_with,
    remove_recall,
    save_recall,
    saved_recalls,
    source_named,
)
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
SOURCE = Citation("chat-1", "Retries", "/work/shop", "message-1", NOW, "answer")
CHAT = """
@ session=S1 cwd=/work/shop
aaaa1111 <- - user: what is the retry budget?
bbbb2222 <- aaaa1111 assistant: five tries, then it gives up
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(CHAT))})
    shelf.update()
    return shelf


def recalled(
    library: Path, question: str, *, max_tokens: int, since: datetime | None = None, until: datetime | None = None
) -> list[RecalledPassage]:
    terms = terms_of(question)
    evidence = Evidence(question, dict.fromkeys(terms, 0), 10)
    return passages_of_recalls(library, terms, evidence, max_tokens=max_tokens, since=since, until=until)


def told(library: Path, question: str, max_tokens: int = 500) -> list[str]:
    return [one.text for one in recalled(library, question, max_tokens=max_tokens)]


def test_saved_recalls_are_read_back(tmp_path: Path) -> None:
    saved = save_recall(
        tmp_path, "What is the\nretry budget?", "Five tries.\n", [SOURCE], project="/work/shop", now=NOW
    )
    assert saved.name == "2026-01-05-retry-budget"
    assert saved_recalls(tmp_path) == [saved]
    assert saved.question == "What is the retry budget?"
    text = (recalls_folder(tmp_path) / f"{saved.name}.md").read_text("utf-8")
    assert "\nFive tries.\n\n## Sources\n\n- 2026-01-05 10:00 Retries (answer) `chat-1/message-1`\n" in text
    assert (recalls_folder(tmp_path).stat().st_mode & 0o777) == 0o700


def test_nothing_that_was_saved_is_written_over(tmp_path: Path) -> None:
    names = [save_recall(tmp_path, "retry budget", text, [], now=NOW).name for text in ("one", "two", "three")]
    assert names == ["2026-01-05-retry-budget", "2026-01-05-retry-budget-2", "2026-01-05-retry-budget-3"]
    assert {one.text for one in saved_recalls(tmp_path)} == {"one", "two", "three"}


TEXT = st.text(st.characters(codec="utf-8"), max_size=60).map(lambda text: "\n".join(text.split("\r")).strip())


@given(
    question=TEXT.map(lambda text: " ".join(text.split())).filter(bool),
    text=TEXT.filter(bool),
    title=TEXT,
    project=st.none() | TEXT.filter(bool),
)
def test_any_text_comes_back(
    question: str, text: str, title: str, project: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    source = Citation("chat", title, project, "message", NOW, "answer", "agent-1")
    saved = save_recall(library, question, text, [source], project=project, now=NOW)
    assert saved_recalls(library) == [saved]
    assert find_recall(library, saved.name) == saved


@pytest.mark.parametrize(
    ("written", "question", "text"),
    [
        ("Only text.\n", "mine", "Only text."),
        ("---\nquestion: by hand\nsaved: 2026-01-05\n---\n\nText.\n", "by hand", "Text."),
        ('---\nquestion: ["odd"]\nsources:\n  - {"chat": 3}\n  - oops\n---\nText.', "mine", "Text."),
        ("---\nquestion: never closed\nText.", "mine", "---\nquestion: never closed\nText."),
        ("", "mine", ""),
        ("## Sources\n", "mine", "## Sources"),
    ],
)
def test_a_file_edited_by_hand_is_read_as_far_as_possible(
    tmp_path: Path, written: str, question: str, text: str
) -> None:
    recalls_folder(tmp_path).mkdir()
    (recalls_folder(tmp_path) / "mine.md").write_text(written, "utf-8")
    (found,) = saved_recalls(tmp_path)
    assert (found.name, found.question, found.text) == ("mine", question, text)
    as_markdown(found)


def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    save_recall(tmp_path, "retry budget", "Five.", [], now=NOW)
    (recalls_folder(tmp_path) / "broken.md").write_bytes(b"\xff\xfe not text")
    (recalls_folder(tmp_path) / "link.md").symlink_to(tmp_path / "nowhere")
    (recalls_folder(tmp_path) / "folder.md").mkdir()
    assert {one.name for one in saved_recalls(tmp_path)} == {"2026-01-05-retry-budget", "broken"}


def test_one_is_found_by_the_beginning_of_its_name_and_removed(tmp_path: Path) -> None:
    for question in ("retry budget", "retry delay", "parser"):
        save_recall(tmp_path, question, "Answer.", [], now=NOW)
    assert find_recall(tmp_path, "2026-01-05-p").question == "parser"
    with pytest.raises(UsageError, match="2 saved recalls begin with"):
        find_recall(tmp_path, "2026-01-05-retry")
    with pytest.raises(NothingFound, match="no recall is saved as"):
        find_recall(tmp_path, "../marks")
    assert remove_recall(tmp_path, "2026-01-05-parser").question == "parser"
    assert len(saved_recalls(tmp_path)) == 2


def test_words_choose(tmp_path: Path) -> None:
    save_recall(tmp_path, "retry budget", "Fünf Versuche.", [], now=NOW)
    save_recall(tmp_path, "parser", "It is lenient.", [], now=NOW)
    recalls = saved_recalls(tmp_path)
    assert [one.question for one in recalls_with(recalls, ["RETRY", "funf"])] == ["retry budget"]
    assert recalls_with(recalls, ["retry", "lenient"]) == []
    assert recalls_with(recalls, []) == recalls


@pytest.mark.parametrize("question", ["", " \n ", "?"])
def test_nothing_is_not_saved(tmp_path: Path, question: str) -> None:
    with pytest.raises(UsageError, match="nothing to save"):
        save_recall(tmp_path, question, " " if question else "text", [])
    assert saved_recalls(tmp_path) == []


def test_a_source_must_be_there(shelf: Shelf) -> None:
    chat = session_uuid("S1")
    with shelf.open() as library:
        message = next(hit.uuid for one in library.search("tries").chats for hit in [one.passages[0].hit])
        assert message
        for name in (f"{chat[:8]}/{message[:13]}", f"{chat}/{message}", message):
            source = source_named(library, name)
            assert (source.chat, source.message, source.title) == (chat, message, "what is the retry budget?")
            assert source.when is not None
        for name in (f"{chat[:8]}/ffffffff", "ffffffff/ffffffff"):
            with pytest.raises(NothingFound):
                source_named(library, name)
        for name in ("", "/", "a/b", "x' or '1'='1/1234", f"{chat}/%%%%"):
            with pytest.raises(UsageError):
                source_named(library, name)


def test_no_id_in_a_transcript_passes_a_message_off_as_another_chats(tmp_path: Path) -> None:
    """An old agent's file has no id in its name: the chat's is what its records say."""
    claimed = "cccc0000' or 1 --"
    record = {
        "type": "user", "uuid": "dddd3333-0000-4000-8000-000000000000", "parentUuid": None, "sessionId": claimed,
        "isSidechain": True, "agentId": "cccc0000", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": "/work/shop",
        "message": {"role": "user", "content": "nothing of the sort was said"},
    }  # fmt: skip
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(CHAT))})
    shelf.write({"projects/-work-shop/agent-cccc0000.jsonl": json.dumps(record) + "\n"})
    shelf.update()
    with shelf.open() as library:
        assert library.find("cccc0000").overview.id == claimed
        assert source_named(library, "cccc0000/dddd3333").chat == claimed
        answer = next(hit.uuid for one in library.search("tries").chats for hit in [one.passages[0].hit])
        assert answer
        with pytest.raises(NothingFound, match="has no message"):
            source_named(library, f"cccc0000/{answer}")


def test_a_saved_recall_answers_a_question_and_cites_what_it_rests_on(tmp_path: Path) -> None:
    save_recall(tmp_path, "What is the retry budget?", "Five tries.", [SOURCE], now=NOW)
    save_recall(tmp_path, "Why is the parser lenient?", "Old files.", [], now=NOW)
    (passage,) = recalled(tmp_path, "how large is the retry budget", max_tokens=500)
    assert passage.text.endswith("What is the retry budget?\nFive tries.")
    assert (passage.source.chat, passage.source.message, passage.source.role) == ("chat-1", "message-1", ROLE)
    assert set(passage.why) == {"retry", "budget"}
    (passage,) = recalled(tmp_path, "lenient parser", max_tokens=500)
    assert (passage.source.chat, passage.source.message) == ("", "")
    assert told(tmp_path, "the weather of tomorrow") == []
    assert told(tmp_path, "what is the retry budget of the payment gateway?") == []
    assert told(tmp_path, "why is the retry parser lenient?") == []
    assert told(tmp_path, "") == []


def test_saved_recalls_are_listed_by_the_time_of_saving(tmp_path: Path) -> None:
    save_recall(tmp_path, "retry budget", "Five.", [], now=NOW)
    later = datetime(2026, 2, 1, tzinfo=UTC)
    assert recalled(tmp_path, "retry budget", max_tokens=500, since=later) == []
    assert recalled(tmp_path, "retry budget", max_tokens=500, until=NOW) == []
    assert len(recalled(tmp_path, "retry budget", max_tokens=500, since=NOW, until=later)) == 1


@given(max_tokens=st.integers(0, 400), texts=st.lists(st.text(min_size=1, max_size=2000), min_size=1, max_size=4))
def test_the_budget_is_never_exceeded(
    max_tokens: int, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    recalls_folder(library).mkdir()
    for number, text in enumerate(texts):
        one = SavedRecall(f"retry-{number}", "retry budget", text, NOW)
        (recalls_folder(library) / f"{one.name}.md").write_text(as_markdown(one), "utf-8", errors="replace")
    passages = recalled(library, "retry budget", max_tokens=max_tokens)
    assert sum(map(cost_of, passages)) <= max_tokens


def test_recall_shows_saved_answers_first(shelf: Shelf) -> None:
    with shelf.open() as library:
        save_recall(
            library.settings.library, "What is the retry budget?", "Five tries.", [source_named(library, "bbbb2222")]
        )
        found = recall(library, "what is the retry budget?")
    assert found.passages[0].source.role == ROLE
    assert [one.source.role for one in found.passages[1:]] != []
    assert found.tokens <= 2000
