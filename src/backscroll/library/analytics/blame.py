"""Which chats changed a file, when, and the prompts behind it."""

from datetime import datetime
from typing import NamedTuple

from backscroll.errors import NothingFound
from backscroll.library.analytics.file_calls import PromptFinder, file_calls, result_of
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from backscroll.store.report_rows import FileCallRow


class TurnEdits(NamedTuple):
    """The calls of one turn for a file."""

    file: str
    machine: str
    """The machine that the file is on."""
    chat: str | None
    title: str
    project: str | None
    agent: str | None
    prompt: str | None
    """The start of the prompt."""
    prompt_uuid: str | None
    first: datetime | None
    last: datetime | None
    edits: int
    reads: int
    failed: int
    added: int
    removed: int
    tools: tuple[str, ...]
    messages: tuple[str, ...]
    """The uuids of the rows with the calls."""
    abandoned: bool


def blame(library: Library, path: str, asked: ReportRequest, *, reads: bool = False) -> list[TurnEdits]:
    """Return the turns that changed files whose path ends with `path`, newest first; with `reads`, also mere reads."""
    calls = file_calls(library, asked, path)
    if not calls:
        raise NothingFound(f"no chat read or changed {path}", "see backscroll stats files")
    titles = library.titles()
    prompts = PromptFinder(library)
    groups: dict[tuple[str, str, str | None, str | None, str | None], list[FileCallRow]] = {}
    typed = {}
    for call in calls:
        if not call.changes and not reads:
            continue
        prompt = prompts.of(call)
        key = (call.file, call.machine, call.chat, call.agent, prompt.uuid if prompt else None)
        groups.setdefault(key, []).append(call)
        typed[key] = prompt.text if prompt else None
    rows = []
    with library.texts() as texts:
        for key, group in groups.items():
            file, machine, chat, agent, uuid = key
            done = [call for call in group if call.is_done]
            results = [result_of(texts, call) for call in done if call.changes]
            times = [call.when for call in group if call.when]
            rows.append(
                TurnEdits(
                    file, machine, chat, titles.get(chat, "") if chat else "", group[0].project, agent,
                    typed[key], uuid, min(times, default=None), max(times, default=None), len(results),
                    len(done) - len(results),
                    len(group) - len(done), sum(result.added for result in results),
                    sum(result.removed for result in results), tuple(dict.fromkeys(call.tool for call in group)),
                    tuple(dict.fromkeys(call.uuid for call in group if call.uuid)),
                    all(call.is_abandoned for call in group),
                )
            )  # fmt: skip
    rows.sort(key=lambda row: row.last.timestamp() if row.last else 0, reverse=True)
    return rows
