"""Tool calls, each once with its result, and the starts of turns.

Most calls are read from `calls`, with their results. Of calls that exist several times (`shared_calls`), the earliest
visible copy is taken, as in `v_tool_calls`, and likewise of their results; only then are the period and the files
applied.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Final

from backscroll.conversation.kinds import TURNS
from backscroll.store.tool_call_rows import CallStep, CallSums, CallThread, ToolCallDimension, ToolCallRow

KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
NO_RESULT: Final = (None,) * 9
Files = dict[int, tuple[Any, ...]]
"""The columns of `files of calls` for the file of a call, by its id."""
IsAsked = Callable[[int, int | None], bool]
Copies = dict[str, list[tuple[Any, ...]]]


def paired(rows: Iterable[Any], files: Files) -> list[ToolCallRow]:
    """Return the calls of the rows of `paired calls`."""
    return [_row(row[:16], row[16:] if row[18] is not None else None, 1, files) for row in rows]


def chosen(inputs: Iterable[Any], outputs: Iterable[Any], files: Files, is_asked: IsAsked | None) -> list[ToolCallRow]:
    """Return the calls that exist several times, each once."""

    def age(row: tuple[Any, ...]) -> tuple[Any, ...]:
        file, number, block, time = row[2:6]
        agent, source = files[file][3], files[file][6]
        return time is not None, time or 0, agent is not None, source, number, block

    results = {call: min((row for row in copies if row[1]), key=age, default=None)
               for call, copies in _by_call(outputs).items()}  # fmt: skip
    chosen_calls = []
    for call, copies in _by_call(inputs).items():
        # A record without a uuid is no row of a conversation, and is taken only if there is no other.
        first = min((row for row in copies if row[1]), key=age, default=min(copies, key=lambda row: row[7]))
        if is_asked is None or is_asked(first[2], first[5]):
            chosen_calls.append(_row(first, results.get(call), len(copies), files))
    return chosen_calls


def _by_call(rows: Iterable[Any]) -> Copies:
    copies: Copies = defaultdict(list)
    for row in rows:
        copies[row[0]].append(row)
    return copies


def _row(call: tuple[Any, ...], result: tuple[Any, ...] | None, copies: int, files: Files) -> ToolCallRow:
    file, sidechain = call[2], call[6]
    ended = NO_RESULT if result is None else (*result[6:9], *result[4:6], *result[9:], files[result[2]][6])
    values = (call[7], file, sidechain != 0, *call[3:5], *files[file], *call[8:10], call[5], *call[10:], copies, *ended)
    return tuple.__new__(ToolCallRow, values)


def in_order(calls: Iterable[ToolCallRow], files: Files) -> list[ToolCallRow]:
    """Return calls thread by thread, each in the order of the conversation: passages of a file are numbered in it."""
    threads: dict[tuple[int, bool], list[ToolCallRow]] = defaultdict(list)
    for call in calls:
        threads[call.file, call.is_sidechain].append(call)
    ordered: list[ToolCallRow] = []
    for thread in sorted(threads, key=lambda thread: _order(thread, files)):
        ordered += sorted(threads[thread])
    return ordered


def threads_of(steps: Iterable[CallStep], others: Iterable[ToolCallRow], files: Files) -> list[CallThread]:
    """Return the threads of calls, in the order of `in_order`."""
    threads: dict[tuple[int, int], list[CallStep]] = defaultdict(list)
    for step in steps:
        threads[step[1:3]].append(step)  # file and sidechain
    for call in others:
        file, sidechain = call.file, int(call.is_sidechain)
        step = CallStep(call.id, file, sidechain, call.time, call.tool, call.state, call.signature, call.copies)
        threads[file, sidechain].append(step)
    ordered = sorted(threads, key=lambda thread: _order(thread, files))
    call_threads = []
    for (chat, *_), parts in groupby(ordered, key=lambda thread: (files[thread[0]][0], files[thread[0]][3], thread[1])):
        call_threads.append(CallThread(chat, [step for part in parts for step in sorted(threads[part])]))
    return call_threads


def sums_of(calls: Iterable[ToolCallRow], by: ToolCallDimension) -> list[CallSums]:
    """Add up calls by a dimension and by how they ended, as the statements do."""
    groups: dict[tuple[str | None, str | None], list[ToolCallRow]] = defaultdict(list)
    for call in calls:
        groups[getattr(call, by), call.state].append(call)
    return [
        CallSums(
            name,
            state,
            len(some),
            sum(call.copies - 1 for call in some),
            sum(call.size or 0 for call in some),
            sum(call.result_size or 0 for call in some),
            [call.took for call in some],
        )
        for (name, state), some in groups.items()
    ]


def _order(thread: tuple[int, int], files: Files) -> tuple[Any, ...]:
    file, sidechain = thread
    chat, _, _, agent, _, started, source = files[file]
    return chat, agent is not None, agent or "", sidechain, started is not None, started or 0, source


ASKED: Final = """(:files is null or c.file in (select value from json_each(:files)))
  and (:since is null or c.time >= :since) and (:until is null or c.time < :until)"""
CALL: Final = """i.call, r.uuid is not null, r.file, r.number, i.number, r.time, r.sidechain, i.id, r.start, r.length,
  coalesce(r.original, r.uuid), r.model, i.tool, i.file, i.size, i.digest"""
RESULT: Final = """o.call, p.uuid is not null, p.file, p.number, o.number, p.time, o.state, o.size, o.detail,
  coalesce(p.original, p.uuid), p.start, p.length"""
PAIRED: Final = f"""
select {CALL}, {RESULT}
from calls c join blocks i on i.id = c.id join records r on r.id = i.record
left join blocks o on o.id = c.result left join records p on p.id = o.record
"""  # noqa: S608 - no values in it
SUMS: Final = """
select {name}, c.state, count(*), 0, sum(coalesce(c.size, 0)), sum(coalesce(c.result_size, 0)), json_group_array(c.took)
from calls c {joined} where {asked} group by 1, 2
"""
STATEMENTS: Final = {
    "paired calls": f"{PAIRED} where {ASKED}",
    "some calls": f"{PAIRED} where c.id in (select value from json_each(:calls))",  # noqa: S608
    "call steps": f"""
select c.id, c.file, c.sidechain, c.time, c.tool, c.state,
  case c.state when 'error' then (select o.detail from blocks o where o.id = c.result) end, 1
from calls c where {ASKED}
""",  # noqa: S608
    "call places": """
select i.id, f.source, r.start, r.length, i.number, i.tool, i.file
from blocks i join records r on r.id = i.record join files f on f.id = r.file
where i.id in (select value from json_each(:calls))
""",
    "shared inputs": f"""
select {CALL} from blocks i join records r on r.id = i.record
where i.role = 'input' and i.call in (select call from shared_calls)
""",  # noqa: S608
    "shared outputs": f"""
select {RESULT} from blocks o join records p on p.id = o.record
where o.role = 'output' and o.call in (select call from shared_calls)
""",  # noqa: S608
    "calls by tool and state": SUMS.format(name="c.tool", joined="", asked=ASKED),
    "calls by project and state": SUMS.format(name="f.project", joined="join files f on f.id = c.file", asked=ASKED),
    "calls by model and state": SUMS.format(
        name="r.model", joined="join blocks i on i.id = c.id join records r on r.id = i.record", asked=ASKED
    ),
    "unanswered": f"select f.session from calls c join files f on f.id = c.file where c.state is null and {ASKED}",  # noqa: S608
    "files of calls": """
select f.id, coalesce(f.chat, -f.id), c.name, f.session, f.agent, f.project, f.started, f.source
from files f left join chats c on c.id = f.chat
""",
    "turns": f"""
select r.file, r.sidechain, r.number from records r
where r.kind in ({KINDS}) and (:files is null or r.file in (select value from json_each(:files)))
order by r.file, r.sidechain, r.number
""",  # noqa: S608
}
