"""Tool calls, each once with its result, and where turns begin.

Of the copies of a call, and of its result, the earliest is taken, as in `v_tool_calls`; only then is it asked whether
it lies in the time and the files that count.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from backscroll.conversation.kinds import TURNS
from backscroll.store.report_rows import ToolCallRow

KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
NO_RESULT: Final = (None,) * 9
Copies = dict[str, list[tuple[Any, ...]]]


def paired_calls(
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    files: Iterable[Any],
    is_asked: Callable[[int, int | None], bool] | None = None,
) -> list[ToolCallRow]:
    """The calls with their results, thread by thread, made of the rows of the statements below.

    Not by a join: the ids of calls are random, so that it would read rows all over the store. The statements read them
    in their order, which takes a third of the time.
    """
    known = {file: tuple(told) for file, *told in files}

    def age(row: tuple[Any, ...]) -> tuple[Any, ...]:
        file, number, block, time = row[2:6]
        agent, source = known[file][3], known[file][6]
        return time is not None, time or 0, agent is not None, source, number, block

    results, copied_results = _by_call(outputs)
    for call, copies in copied_results.items():
        results[call] = min((row for row in copies if row[1]), key=age, default=None)
    nameless: list[Any] = []
    called, copied_calls = _by_call(inputs, nameless)
    for call, copies in copied_calls.items():
        # What has no uuid is no row of a conversation, and is taken only where there is nothing else.
        called[call] = min((row for row in copies if row[1]), key=age, default=min(copies, key=lambda row: row[7]))
    threads: dict[tuple[int, int], list[ToolCallRow]] = defaultdict(list)
    for row in chain(called.values(), nameless):
        call, file, sidechain = row[0], row[2], row[6]
        if is_asked is not None and not is_asked(file, row[5]):
            continue
        found = results.get(call) if call else None
        if found is None:
            result = NO_RESULT
        elif found[1]:
            result = (*found[6:9], *found[4:6], *found[9:], known[found[2]][6])
        else:
            result = (None, None, None, found[4], None, None, None, None, None)
        count = len(copied_calls[call]) if call in copied_calls else 1
        values = (file, sidechain != 0, *row[3:5], *known[file], *row[8:10], row[5], *row[10:], count, *result)
        threads[file, sidechain].append(tuple.__new__(ToolCallRow, values))
    ordered: list[ToolCallRow] = []
    for thread in sorted(threads, key=lambda thread: _order(thread, known)):
        ordered += sorted(threads[thread], key=itemgetter(2, 3))
    return ordered


def _by_call(rows: Iterable[Any], nameless: list[Any] | None = None) -> tuple[dict[str, Any], Copies]:
    """The rows by the id of their call, and those of calls that stand several times. Without an id, all are others."""
    found: dict[str, Any] = {}
    copied: Copies = {}
    for row in rows:
        call = row[0]
        if not call:
            if nameless is not None:
                nameless.append(row)
        elif call in found:
            copied.setdefault(call, [found[call]]).append(row)
        else:
            found[call] = row
    return found, copied


def _order(thread: tuple[int, int], known: dict[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    file, sidechain = thread
    chat, _, _, agent, _, started, source = known[file]
    return chat, agent is not None, agent or "", sidechain, started is not None, started or 0, source


STATEMENTS: Final = {
    "call inputs": """
select i.call, r.uuid is not null, r.file, r.number, i.number, r.time, r.sidechain, i.id, r.start, r.length,
  coalesce(r.original, r.uuid), r.model, i.tool, i.file, i.size, i.digest
from blocks i join records r on r.id = i.record where i.role = 'input'
""",
    "call outputs": """
select o.call, p.uuid is not null, p.file, p.number, o.number, p.time, o.state, o.size, o.detail,
  coalesce(p.original, p.uuid), p.start, p.length
from blocks o join records p on p.id = o.record where o.role = 'output'
""",
    "files of calls": """
select f.id, coalesce(f.chat, -f.id), c.name, f.session, f.agent, f.project, f.started, f.source
from files f left join chats c on c.id = f.chat
""",
    "turns": f"""
select r.file, r.sidechain, r.number from records r
where r.kind in ({KINDS}) and (:files is null or r.file in (select value from json_each(:files)))
order by r.file, r.sidechain, r.number
""",  # noqa: S608 - no values in it
}
