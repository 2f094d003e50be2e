"""Questions whose answers touch everything that a library holds, and how two sets of answers compare."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.tools import tools
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.marks import read_marks
from backscroll.library.memory.saved_recalls import saved_recalls
from backscroll.library.searching.search import UNREADABLE
from backscroll.library.sharing.share import share
from backscroll.render.html.export_documents import json_document
from backscroll.settings import Settings

COMMON: Final = ("error", '"in the"', "role:prompt file", "tool:bash the", "is:agent the", "th*")


@dataclass(frozen=True)
class Plain:
    """A question that ended in an error which says what is wrong."""

    message: str


@dataclass(frozen=True)
class Crashed:
    """One that ended in an exception that no door catches."""

    trace: str


Answers = dict[str, Any]


def settings_of(home: Path, library: Path) -> Settings:
    """The settings of a library of one home."""
    return Settings(homes=(home,), library=library, file=library.parent / "settings.toml")


def ask(home: Path, folder: Path, words: Sequence[str], *, refreshes: bool = False) -> Answers:
    """Ask everything; with `refreshes` as a command does, which first brings the library up to date where it must."""
    answers: Answers = {}
    with local_library(settings_of(home, folder), [Home(home)]) as library:
        if refreshes:
            answers["refresh"] = _told(partial(_refreshed, library))
        chats = _told(library.chats)
        answers["list"] = (
            chats
            if isinstance(chats, Plain | Crashed)
            else [(msgspec.to_builtins(chat.overview), chat.archived) for chat in chats]
        )
        for chat in chats if isinstance(chats, list) else ():
            answers[f"show {chat.overview.id}"] = _told(partial(_shown, library, chat))
        for query in (*words, *COMMON):
            answers[f"search {query}"] = _told(partial(_found, library, query))
        answers["usage"] = _told(lambda: _table(usage(library, ReportRequest())))
        answers["tools"] = _told(lambda: _table(tools(library, ReportRequest())))
        answers["pending"] = _told(lambda: library.reader.pending().passages)
    answers["marks"] = _told(lambda: msgspec.to_builtins(read_marks(folder)))
    answers["recalls"] = _told(lambda: saved_recalls(folder))
    answers["kept"] = _told(lambda: kept(folder / "archive"))
    answers["verify"] = _told(lambda: _verified(folder / "archive"))
    return answers


def kept(folder: Path) -> dict[str, list[bytes]]:
    """Every version of every file of an archive."""
    archive = Archive(folder)
    return {
        f"{file.home} {file.path}": [b"".join(archive.content(version)) for version in file.versions]
        for file in archive.files.values()
    }


def lost(before: dict[str, list[bytes]], after: dict[str, list[bytes]]) -> list[str]:
    """The files of which a version is gone; one that has grown since is there."""
    return [
        name
        for name, versions in before.items()
        if len(after.get(name, ())) < len(versions)
        or not all(new.startswith(old) for old, new in zip(versions, after[name], strict=False))
    ]


def differences(answers: Answers, golden: Answers) -> dict[str, str]:
    """What is wrong, by question: other than the golden answer, and not a plain error.

    What is kept is not compared: how many versions of a file that is, depends on when it was kept.
    """
    found = {}
    for name in answers.keys() | golden.keys():
        one, other = answers.get(name), golden.get(name)
        if one == other or isinstance(one, Plain) or (name == "kept" and not isinstance(one, Crashed)):
            continue
        if isinstance(one, Crashed):
            found[name] = "a traceback: " + one.trace.strip().splitlines()[-1][:300]
        elif one is None and isinstance(answers.get("list"), Plain):
            continue  # no list, so nothing to show: the list has said why
        else:
            found[name] = _difference(one, other)
    return found


def errors(answers: Answers) -> dict[str, str]:
    """The plain errors, by question."""
    return {name: value.message for name, value in answers.items() if isinstance(value, Plain)}


def _difference(one: object, other: object) -> str:
    """Where two answers differ, in short."""
    if isinstance(one, dict) and isinstance(other, dict):
        name = min(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
        return f"{name}: {_difference(one.get(name), other.get(name))}"
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            more = [item for item in one if item not in other]
            less = [item for item in other if item not in one]
            return f"{len(one)} instead of {len(other)}: more {str(more)[:100]}, less {str(less)[:100]}"
        number = next(number for number, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
        return f"{number}: {_difference(one[number], other[number])}"
    if isinstance(one, str) and isinstance(other, str):
        at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        return f"at {at}: …{one[max(0, at - 40) : at + 60]!r} instead of …{other[max(0, at - 40) : at + 60]!r}"
    return f"{str(one)[:150]} instead of {str(other)[:150]}"


def _told(question: Callable[[], Any]) -> Any:  # noqa: ANN401
    try:
        return question()
    except BackscrollError as error:
        return Plain(f"{error.kind}: {error.message}")
    except OSError as error:  # the command line and the viewer make a plain error of it
        return Plain(f"storage: {error}")
    except Exception:  # whatever it is, it is what we are looking for
        return Crashed(traceback.format_exc())


def _refreshed(library: Library) -> None:
    library.refresh(with_text=True)


def _shown(library: Library, chat: Any) -> str:  # noqa: ANN401
    if library.missing_from(chat):  # as the command does
        raise BackscrollError("part of this chat is missing", "see what is damaged")
    return "".join(json_document(share(library, chat, None)))


def _found(library: Library, query: str) -> tuple[Any, ...]:
    found = library.search(query, limit=1000, hits=1000)
    if any(passage.snippet.text in UNREADABLE for chat in found.chats for passage in chat.passages):
        raise BackscrollError(UNREADABLE, "")  # a hit says so in place of its text
    return (
        found.total,
        found.total_chats,
        sorted(
            # Without the path: of a row that several files have, any is right.
            (chat.chat.overview.id, hit.role, hit.uuid or "", hit.number, library.text(hit))
            for chat in found.chats
            for hit in (passage.hit for passage in chat.passages)
        ),
    )


def _table(report: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return report.columns, sorted(report.rows, key=repr), sorted(report.facts.items(), key=repr)


def _verified(folder: Path) -> None:
    """Nothing, or what is damaged as the error that `archive verify` ends with."""
    damages = verify(Archive(folder)).damages
    if damages:
        raise BackscrollError(f"damaged: {damages[0].what}", "see archive verify")
