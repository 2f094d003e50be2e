"""Saved recalls: answers from earlier chats, kept as Markdown with their sources.

Each is a file of its own in the library's folder `recalls`, which people may read and edit: a head of `key: value`
lines, whose values are JSON, and the text. There are few of them, so all are read for each search; nothing is derived
from them. The only module that knows these files.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from backscroll.disk import open_private, private_folder
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library.library import Library
from backscroll.library.memory.budget import cut_to, tokens_of
from backscroll.library.memory.citations import A_LINE, Citation, RecalledPassage, cost_of, is_project
from backscroll.library.memory.evidence import Evidence
from backscroll.library.memory.questions import Term, terms_of
from backscroll.query.snippets import fold
from backscroll.store.batches import EPOCH

ROLE: Final = "saved recall"
"""The kind of a saved recall among passages."""
LONGEST_TEXT: Final = 100_000
LONGEST_FILE: Final = 4 * LONGEST_TEXT
LONGEST_QUESTION: Final = 500
MAX_RECALLS: Final = 2
SOURCES: Final = "## Sources"


@dataclass(frozen=True)
class SavedRecall:
    """A saved recall. `text` is without the list of sources at its end."""

    name: str
    question: str
    text: str
    saved: datetime | None = None
    project: str | None = None
    sources: tuple[Citation, ...] = ()


def recalls_folder(library: Path) -> Path:
    """Return the folder of the saved recalls."""
    return library / "recalls"


def saved_recalls(library: Path) -> list[SavedRecall]:
    """Return all saved recalls, the latest first."""
    read = (_read(path) for path in recalls_folder(library).glob("*.md") if path.is_file())
    recalls = [recall for recall in read if recall is not None]
    return sorted(recalls, key=lambda recall: (recall.saved or EARLIEST, recall.name), reverse=True)


def find_recall(library: Path, name: str) -> SavedRecall:
    """Return the recall with this name, or the only one whose name starts with it."""
    recalls = saved_recalls(library)
    matches = [recall for recall in recalls if recall.name == name] or [
        recall for recall in recalls if recall.name.startswith(name)
    ]
    if not matches:
        raise NothingFound(f"no recall is saved as {name}", "see backscroll recalls")
    if len(matches) > 1:
        raise UsageError(f"{len(matches)} saved recalls begin with {name}", "write more of the name")
    return matches[0]


def recalls_with(recalls: Iterable[SavedRecall], words: Sequence[str]) -> list[SavedRecall]:
    """Return the recalls that contain all of these words, in any case."""
    wanted = [fold(word) for word in words]
    return [recall for recall in recalls if all(word in _searchable_text(recall) for word in wanted)]


def save_recall(
    library: Path,
    question: str,
    text: str,
    sources: Sequence[Citation],
    *,
    project: str | None = None,
    now: datetime | None = None,
) -> SavedRecall:
    """Save an answer in a new file."""
    question = _plain(" ".join(question.split()))[:LONGEST_QUESTION]
    text = _plain(text).strip()
    if not question or not text:
        raise UsageError("there is nothing to save", "give a question, and its answer on standard input")
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"the answer has {len(text):,} characters", f"save at most {LONGEST_TEXT:,}")
    when = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
    folder = recalls_folder(library)
    private_folder(library)
    private_folder(folder)
    first = f"{when:%Y-%m-%d}-{_slug(question)}".rstrip("-")
    for number in range(1, 1000):
        saved = SavedRecall(
            first if number == 1 else f"{first}-{number}", question, text, when, project, tuple(sources)
        )
        try:
            descriptor = open_private(folder / f"{saved.name}.md", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(as_markdown(saved))
            file.flush()
            os.fsync(file.fileno())
        return saved
    raise BackscrollError(f"there are too many recalls {first}", "remove some of them")


def remove_recall(library: Path, name: str) -> SavedRecall:
    """Remove a saved recall and return it."""
    recall = find_recall(library, name)
    (recalls_folder(library) / f"{recall.name}.md").unlink(missing_ok=True)
    return recall


def source_named(library: Library, name: str) -> Citation:
    """Return the source `CHAT/MESSAGE`, or the message alone; prefixes of the ids are enough. It must exist."""
    chat, _, message = name.strip().rpartition("/")
    if not ID.fullmatch(message) or (chat and not ID.fullmatch(chat)):
        raise UsageError(f"{name} is not a source", "write CHAT/MESSAGE, the ids as recall and search give them")
    stored = library.find(chat or message)
    messages = library.reader.messages_named(stored.key, message)
    if not messages:
        raise NothingFound(f"the chat {stored.overview.id[:8]} has no message {message}", "check the ids of the source")
    if len(messages) > 1:
        raise UsageError(f"several messages start with {message}", "write more of it")
    uuid, kind, time, agent = messages[0]
    title = " ".join(stored.overview.title.split())
    when = EPOCH + timedelta(microseconds=time) if time is not None else None
    return Citation(stored.overview.id, title, stored.overview.project, uuid, when, kind, agent)


def passages_of_recalls(
    library: Path,
    terms: Sequence[Term],
    evidence: Evidence,
    *,
    max_tokens: int,
    project: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[RecalledPassage]:
    """Return the saved recalls that answer a question, as passages that cite their first source, within a budget."""
    matches: list[tuple[float, SavedRecall, tuple[str, ...]]] = []
    total = sum(map(_weight, terms))
    for recall in saved_recalls(library) if terms else ():
        searched = _searchable_text(recall)
        has = tuple(term for term in terms if fold(term.text) in searched)
        share = sum(map(_weight, has)) / total
        when = recall.saved or EARLIEST
        if (
            not evidence.supports(recall.text, f"{recall.name} {recall.question}")
            or (since and when < since)
            or (until and when >= until)
        ):
            continue
        nearness = 1.1 if project and is_project(project, recall.project) else 1.0
        matches.append((share * nearness, recall, tuple(term.text for term in has)))
    passages: list[RecalledPassage] = []
    for score, recall, why in sorted(matches, key=lambda item: -item[0])[:MAX_RECALLS]:
        passage = _passage(recall, score, why, max_tokens)
        if passage is not None:
            passages.append(passage)
            max_tokens -= cost_of(passage)
    return passages


def _passage(one: SavedRecall, score: float, why: tuple[str, ...], max_tokens: int) -> RecalledPassage | None:
    first = one.sources[0] if one.sources else None
    # The chat and message are those of the recall's source: a saved recall has none of its own.
    source = Citation(first.chat if first else "", one.question[:60], one.project, first.message if first else "",
                    one.saved, ROLE)  # fmt: skip
    whole = f"saved as {one.name}: {one.question}\n{one.text}"
    empty = RecalledPassage(source, "", False, round(score, 5), why)
    text = whole
    while text:
        passage = RecalledPassage(source, text, len(text) < len(whole), empty.score, why)
        if (over := cost_of(passage) - max_tokens) <= 0:
            return passage
        room = tokens_of(text) - max(over, A_LINE)
        text = cut_to(text, room) if room > 0 else ""
    return None


def as_markdown(saved: SavedRecall) -> str:
    """Return the file content of a saved recall."""
    head = {
        "question": saved.question,
        "saved": saved.saved.isoformat().replace("+00:00", "Z") if saved.saved else None,
        "project": saved.project,
    }
    lines = ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()), "sources:"]
    lines += [f"  - {json.dumps(_as_plain(source), ensure_ascii=False)}" for source in saved.sources]
    lines += ["---", "", saved.text]
    if saved.sources:
        lines += ["", SOURCES, "", *(f"- {_citation_line(source)}" for source in saved.sources)]
    return "\n".join(lines) + "\n"


def _read(path: Path) -> SavedRecall | None:
    """Read a file, however it was edited: without a header, all of it is text. Unreadable files are left out."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST_FILE)
    except OSError:
        return None
    head: dict[str, Any] = {}
    sources: list[Citation] = []
    if match := HEAD.match(text):
        for key, value in _lines(match[1]):
            if key == "-" and isinstance(value, dict):
                sources.append(_source(value))
            else:
                head[key] = value
        text = text[match.end() :]
    if sources:
        text = text.rpartition(f"\n{SOURCES}\n")[0] or text
    question, project = head.get("question"), head.get("project")
    return SavedRecall(
        name=path.stem,
        question=question if isinstance(question, str) else path.stem,
        text=text.strip(),
        saved=_moment(head.get("saved")),
        project=project if isinstance(project, str) else None,
        sources=tuple(sources),
    )


def _lines(head: str) -> Iterator[tuple[str, Any]]:
    for line in head.split("\n"):
        key, _, value = line.strip().partition(" ")
        try:
            yield key.removesuffix(":"), json.loads(value)
        except (ValueError, RecursionError):
            yield key.removesuffix(":"), value.strip() or None  # edited by hand


def _as_plain(source: Citation) -> dict[str, str | None]:
    return {
        "chat": source.chat,
        "message": source.message,
        "time": source.when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if source.when
        else None,
        "title": source.title,
        "project": source.project,
        "kind": source.role,
        **({"agent": source.agent} if source.agent else {}),
    }


def _source(value: dict[str, Any]) -> Citation:
    def text(key: str) -> str:
        return string if isinstance(string := value.get(key), str) else ""

    return Citation(
        text("chat"), text("title"), text("project") or None, text("message"), _moment(value.get("time")),
        text("kind"), text("agent") or None,
    )  # fmt: skip


def _citation_line(source: Citation) -> str:
    when = f"{source.when.astimezone(UTC):%Y-%m-%d %H:%M}" if source.when else "-"
    return f"{when} {' '.join(source.title.split())} ({source.role}) `{source.chat}/{source.message}`"


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _searchable_text(one: SavedRecall) -> str:
    return fold(f"{one.name}\n{one.question}\n{one.text}")


def _weight(term: Term) -> float:
    return 1.5 if term.is_name else 1.0


def _slug(question: str) -> str:
    words = [term.text for term in terms_of(question)] or question.split()
    return "-".join(re.findall(r"[^\W_]+", " ".join(words).lower()))[:48].strip("-") or "recall"


def _plain(text: str) -> str:
    """Return the text without invalid bytes: the file must stay readable."""
    return text.encode("utf-8", "replace").decode()


ID: Final = re.compile(r"[A-Za-z0-9-]{4,64}")
HEAD: Final = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
