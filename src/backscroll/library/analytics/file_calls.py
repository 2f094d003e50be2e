"""Calls that read or changed a file: each once; call and result are read on demand."""

from dataclasses import replace

from backscroll.library.analytics.reports import ReportRequest, reports_about
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.records.content import ToolUse
from backscroll.records.edits import FileInput, FileResult, file_input, file_result
from backscroll.records.kinds import Assistant, User
from backscroll.store.report_rows import FileCallRow as FileCallRow
from backscroll.store.report_rows import TypedPrompt as TypedPrompt
from backscroll.store.report_rows import moment_of as moment_of


def file_calls(library: Library, asked: ReportRequest, path: str | None = None) -> list[FileCallRow]:
    """Return the calls in order of time; with a path, only for files whose path ends with it."""
    reports = reports_about(library, asked)
    if path is None:
        return reports.file_calls()
    return reports.file_calls([file for file in reports.file_paths() if is_end_of(path, file)])


def calls_of_path(library: Library, path: str) -> list[FileCallRow]:
    """Return the calls for the files of a path: that exact path, else paths that end with it, else contain it."""
    reports = reports_about(library, ReportRequest())
    every = reports.file_paths()
    exact = [file for file in every if file == path]
    ends = [file for file in every if is_end_of(path, file)]
    parts = [file for file in every if path.lower() in file.lower()]
    return reports.file_calls(exact) or reports.file_calls(ends) or reports.file_calls(parts)


def is_end_of(wanted: str, path: str) -> bool:
    """Whether a path ends with the wanted one: only whole names match, and an absolute path only itself."""
    wanted, path = wanted.replace("\\", "/"), path.replace("\\", "/")
    while wanted.startswith("./"):
        wanted = wanted[2:]
    return path == wanted or (not wanted.startswith("/") and bool(wanted) and path.endswith("/" + wanted))


def input_of(texts: Texts, call: FileCallRow) -> FileInput:
    """Return the input of a call; empty if it can no longer be read."""
    record = texts.record(call.source, call.start, call.length)
    content = record.message.content if isinstance(record, Assistant) and record.message else ()
    for block in content:
        if isinstance(block, ToolUse) and block.id == call.call:
            return file_input(block)
    return FileInput()


def result_of(texts: Texts, call: FileCallRow) -> FileResult:
    """Return the result of a call; empty if there is none."""
    if call.result_source is None or call.result_start is None or call.result_length is None:
        return FileResult()
    record = texts.record(call.result_source, call.result_start, call.result_length)
    return file_result(record.tool_use_result) if isinstance(record, User) else FileResult()


class PromptFinder:
    """The prompts of chats, loaded on demand."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[str, list[TypedPrompt]] = {}

    def of(self, call: FileCallRow) -> TypedPrompt | None:
        """Return the last prompt before a call: in its own file, or for an agent in its chat."""
        prompts = self._of_chat(call.chat) if call.chat else []
        here = [
            prompt
            for prompt in prompts
            if prompt.source == call.source and prompt.number < call.number and not prompt.in_agent
        ]
        if here:
            return max(here, key=lambda prompt: prompt.number)
        earlier = [prompt for prompt in prompts if not prompt.in_agent and (prompt.time or 0) <= (call.time or 0)]
        return earlier[-1] if earlier else None

    def _of_chat(self, chat: str) -> list[TypedPrompt]:
        if chat not in self._known:
            self._known[chat] = reports_about(self._library, of_chat(self._library, chat)).typed_prompts()
        return self._known[chat]


def of_chat(library: Library, chat: str, asked: ReportRequest | None = None) -> ReportRequest:
    """Return the request limited to one chat."""
    return replace(asked or ReportRequest(), query=library.parse(f'chat:"{chat}"'))


def local_text(asked: ReportRequest, time: int | None) -> str | None:
    """Format a time of the store, in the chosen time zone."""
    when = moment_of(time)
    return f"{asked.local(when):%Y-%m-%d %H:%M:%S}" if when else None
