"""`file_history`: what was done to a file, when and why."""

from typing import Annotated

from msgspec import Meta, Struct

from backscroll.errors import NothingFound
from backscroll.library.analytics.blame import TurnEdits, blame
from backscroll.mcp.answers import Quoted, Time, ToolAnswer, fit, rest_of
from backscroll.mcp.arguments import IncludeCurrent, Offset, Since, ToolArguments, Until
from backscroll.mcp.call_context import CallContext, utc_minutes
from backscroll.mcp.quoting import name_of


class FileHistoryArguments(ToolArguments, frozen=True, kw_only=True):
    """Which file."""

    path: Annotated[
        str,
        Meta(min_length=1, max_length=4096, description="The end of its path is enough: src/app.py."),
    ]
    reads: Annotated[bool, Meta(description="With turns that only read it.")] = False
    since: Since = ""
    until: Until = ""
    limit: Annotated[int, Meta(ge=1, le=200, description="Maximum number of turns, newest first.")] = 20
    offset: Offset = 0
    include_current: IncludeCurrent = False


class FileHistoryTurn(Struct, kw_only=True, omit_defaults=True):
    """What one turn did to a file."""

    chat: str | None
    title: Quoted | None = None
    prompt: Annotated[str | None, Meta(description="The message with the prompt.")] = None
    message: Annotated[str | None, Meta(description="The first message that touched the file.")] = None
    when: Time | None
    file: Quoted | None = None
    machine: Annotated[str | None, Meta(description="Where the file is, if there are several machines.")] = None
    edits: int = 0
    added: int = 0
    removed: int = 0
    reads: int = 0
    failed: int = 0
    agent: str | None = None
    abandoned: bool = False
    text: Annotated[Quoted, Meta(description="The start of the prompt.")] = ""


class FileHistoryAnswer(ToolAnswer, kw_only=True):
    """Turns, the newest first."""

    file: Annotated[Quoted | None, Meta(description="The file, if only one matches.")] = None
    total: int
    turns: list[FileHistoryTurn]


def file_history(context: CallContext, wanted: FileHistoryArguments) -> FileHistoryAnswer:
    """What was done to a file."""
    context.must_exist()
    try:
        rows = blame(context.library, wanted.path, context.asked("", wanted.since, wanted.until), reads=wanted.reads)
    except NothingFound as error:
        hint = "give a shorter path, or list files with stats, report=files"
        raise NothingFound(error.message, hint) from error
    own = frozenset() if wanted.include_current else context.own_chats()
    rows = [row for row in rows if row.chat not in own]
    # Files of the caller's project come first.
    rows.sort(key=lambda row: not context.caller.is_at(row.project))
    page = rows[wanted.offset : wanted.offset + wanted.limit]
    files = {row.file for row in rows}

    def make(count: int, _: int | None) -> FileHistoryAnswer:
        rest = rest_of(wanted.offset + count, len(rows))
        met: set[str | None] = set()
        turns = []
        for row in page[:count]:
            turns.append(_turn(context, row, with_file=len(files) > 1, with_title=row.chat not in met))
            met.add(row.chat)
        return FileHistoryAnswer(
            note=context.frame.note,
            file=context.frame.line(files.copy().pop(), 80) if len(files) == 1 else None,
            total=len(rows),
            turns=turns,
            cut=bool(rest),
            rest=rest,
        )

    return fit(make, len(page), wanted.max_tokens)


def _turn(context: CallContext, row: TurnEdits, *, with_file: bool, with_title: bool) -> FileHistoryTurn:
    return FileHistoryTurn(
        chat=name_of(row.chat),
        title=context.frame.line_or_none(row.title) if with_title else None,
        prompt=name_of(row.prompt_uuid),
        message=name_of(next(iter(row.messages), None)),
        when=utc_minutes(row.last),
        file=context.frame.line(row.file, 60) if with_file else None,
        machine=name_of(row.machine) if context.library.has_other_machines else None,
        edits=row.edits,
        added=row.added,
        removed=row.removed,
        reads=row.reads,
        failed=row.failed,
        agent=name_of(row.agent),
        abandoned=row.abandoned,
        text=context.frame.line(row.prompt, 80) if row.prompt else "",
    )
