"""Sessions that are made to be slow to read: very many parts in one place. Each shape has `n` of them.

`SHAPES` gives, for each name, the files of a project's folder. `bench.hostile` measures how the work grows with `n`;
`tests/library/test_work.py` counts it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

Record = dict[str, Any]
Files = dict[str, bytes]

DOT: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # a picture
)
SESSION: Final = "5e551000-0000-4000-8000-000000000000"


def row_id(number: int) -> str:
    """The uuid of a row."""
    return f"00000000-0000-4000-8000-{number:012x}"


def record(kind: str, number: int, parent: int | None, content: object, **fields: object) -> Record:
    """A row of a session."""
    message: Record = {"role": kind, "content": content}
    if kind == "assistant":
        usage = {"input_tokens": 1, "output_tokens": 1}
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-sonnet-4-5", "usage": usage}
    return {
        "type": kind,
        "uuid": row_id(number),
        "parentUuid": None if parent is None else row_id(parent),
        "sessionId": SESSION,
        "timestamp": f"2026-01-{1 + number // 86400 % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}"
        f":{number % 60:02}.000Z",
        "cwd": "/work/shop",
        "version": "2.1.0",
        "isSidechain": False,
        "message": message,
        **fields,
    }


def asked(number: int = 0, parent: int | None = None, text: str = "do it") -> Record:
    """A prompt."""
    return record("user", number, parent, text)


def answered(number: int, parent: int, *blocks: Record, message: str | None = None) -> Record:
    """An answer."""
    made = record("assistant", number, parent, list(blocks) or [said(number)])
    if message is not None:
        made["message"]["id"] = message
    return made


def said(number: int, text: str = "part") -> Record:
    """A block of text."""
    return {"type": "text", "text": f"{text} {number}"}


def call(number: int, name: str = "Bash", **arguments: object) -> Record:
    """A call of a tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments or {"command": "ls"}}


def result(number: int, content: object = "done") -> Record:
    """The result of a call."""
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}


def session(*records: Record, name: str = SESSION) -> Files:
    """One file of these records."""
    return {f"{name}.jsonl": b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in records)}


def text_blocks(n: int) -> Files:
    """One answer in `n` blocks of text."""
    return session(asked(), answered(1, 0, *map(said, range(n))))


def call_blocks(n: int) -> Files:
    """One answer with `n` calls, none of which came to anything."""
    return session(asked(), answered(1, 0, *map(call, range(n))))


def result_blocks(n: int) -> Files:
    """One answer with `n` calls, and one row with all results."""
    results = record("user", 2, 1, list(map(result, range(n))), toolUseResult={"stdout": "done " * n, "agentId": "a1"})
    return session(asked(), answered(1, 0, *map(call, range(n))), results, answered(3, 2))


def spread_results(n: int) -> Files:
    """One answer with `n` calls, and each result in a row of its own."""
    results = (record("user", 2 + at, 1 + at, [result(at)]) for at in range(n))
    return session(asked(), answered(1, 0, *map(call, range(n))), *results, answered(n + 2, n + 1))


def result_parts(n: int) -> Files:
    """One result that is `n` blocks of text."""
    results = record("user", 2, 1, [result(0, list(map(said, range(n))))])
    return session(asked(), answered(1, 0, call(0)), results, answered(3, 2))


def prompt_blocks(n: int) -> Files:
    """One prompt in `n` blocks of text."""
    return session(record("user", 0, None, list(map(said, range(n)))), answered(1, 0))


def same_call(n: int) -> Files:
    """One answer with `n` calls of the same id, and a long result."""
    results = record("user", 2, 1, [result(0, "done " * n)])
    return session(asked(), answered(1, 0, *(call(0) for _ in range(n))), results, answered(3, 2))


def pictures(n: int) -> Files:
    """One answer with `n` calls, whose results are images in one row."""
    source = {"type": "base64", "media_type": "image/png", "data": DOT}
    shown = [result(at, [{"type": "image", "source": source}]) for at in range(n)]
    return session(asked(), answered(1, 0, *map(call, range(n))), record("user", 2, 1, shown), answered(3, 2))


def same_message(n: int) -> Files:
    """One answer in `n` rows."""
    return session(asked(), *(answered(at, at - 1, message="msg_one") for at in range(1, n + 1)))


def same_row(n: int) -> Files:
    """One row, written `n` times."""
    return session(asked(), *(answered(1, 0, said(at)) for at in range(n)))


def chain(n: int) -> Files:
    """`n` rows, each an answer of its own to one prompt."""
    return session(asked(), *(answered(at, at - 1) for at in range(1, n + 1)))


def turns(n: int) -> Files:
    """`n` prompts, each with its answer."""
    rows = (asked(at, at - 1 if at else None) if at % 2 == 0 else answered(at, at - 1) for at in range(2 * n))
    return session(*rows)


def prompts_alone(n: int) -> Files:
    """`n` prompts in a row without answers."""
    return session(*(asked(at, at - 1 if at else None) for at in range(n)))


def branches(n: int) -> Files:
    """`n` prompts that all go back to the same point, each with its answer."""
    rows = [asked(), answered(1, 0)]
    for at in range(n):
        rows += [asked(2 + 2 * at, 1, f"try {at}"), answered(3 + 2 * at, 2 + 2 * at)]
    return session(*rows)


def comb(n: int) -> Files:
    """`n` prompts in a row, each of which was reworded once."""
    rows = [asked(), answered(1, 0)]
    for at in range(n):
        last = 1 + 4 * at
        rows += [asked(last + 1, last, "no"), answered(last + 2, last + 1)]
        rows += [asked(last + 3, last, "yes"), answered(last + 4, last + 3)]
    return session(*rows)


def cut_turns(n: int) -> Files:
    """A long turn, and then prompts that go back to each of its `n` answers."""
    rows = [asked(), *(answered(at, at - 1) for at in range(1, n + 1))]
    return session(*rows, *(asked(n + at, at, f"back to {at}") for at in range(1, n + 1)))


def cut_results(n: int) -> Files:
    """A turn of `n` results in a chain, and prompts that go back to each of them."""
    rows = [asked(), answered(1, 0, *map(call, range(n)))]
    rows += [record("user", 2 + at, 1 + at, [result(at)]) for at in range(n)]
    rows += [answered(n + 2, n + 1)]
    return session(*rows, *(asked(n + 3 + at, 2 + at, f"back to {at}") for at in range(n)))


def agents(n: int) -> Files:
    """`n` agents in files of their own, which only their prompts tell apart."""
    calls = [call(at, "Task", prompt=f"look at {at}", description="look", subagent_type="Explore") for at in range(n)]
    files = session(asked(), *(answered(at + 1, at, one) for at, one in enumerate(calls)))
    for at in range(n):
        rows = [record("user", 10**6 + 2 * at, None, f"look at {at}", isSidechain=True, agentId=f"a{at}")]
        rows += [
            record("assistant", 10**6 + 2 * at + 1, 10**6 + 2 * at, [said(at)], isSidechain=True, agentId=f"a{at}")
        ]
        files |= session(*rows, name=f"{SESSION}/subagents/agent-a{at}")
    return files


def agents_alone(n: int) -> Files:
    """`n` agents whose session is gone."""
    return {name: data for name, data in agents(n).items() if "/" in name}


def inline_agents(n: int) -> Files:
    """`n` agents among the rows of their session, all with the same prompt."""
    rows = [asked()]
    for at in range(n):
        task = call(at, "Task", prompt="look", description="look", subagent_type="Explore")
        rows += [answered(3 * at + 1, 3 * at - 2 if at else 0, task)]
        rows += [record("user", 3 * at + 2, None, "look", isSidechain=True)]
        rows += [record("assistant", 3 * at + 3, 3 * at + 2, [said(at)], isSidechain=True)]
    return session(*rows)


def compactions(n: int) -> Files:
    """`n` times the context was summed up."""
    rows = [asked(), answered(1, 0)]
    for at in range(n):
        last = 1 + 3 * at
        boundary = record("user", last + 1, None, "")
        boundary |= {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
        boundary.pop("message")
        summary = record("user", last + 2, last + 1, "This session is being continued …", isCompactSummary=True)
        rows += [boundary, summary, answered(last + 3, last + 2)]
    return session(*rows)


def sharing_sessions(n: int) -> Files:
    """`n` sessions that begin with the same four rows and then go their own ways."""
    files: Files = {}
    shared = [asked(), answered(1, 0), asked(2, 1, "and then"), answered(3, 2)]
    for at in range(n):
        own = [asked(4 + 2 * at, 3, f"way {at}"), answered(5 + 2 * at, 4 + 2 * at)]
        name = f"5e551000-0000-4000-8000-{at:012x}"
        files |= session(*({**row, "sessionId": name} for row in (*shared, *own)), name=name)
    return files


def forked_forks(n: int) -> Files:
    """`n` rows, each said to be a copy of the one before it."""
    rows = [asked()]
    for at in range(1, n + 1):
        fork = {"sessionId": SESSION, "messageUuid": row_id(at - 1)}
        rows += [record("user", at, None, "do it", forkedFrom=fork)]
    return session(*rows)


def queued(n: int) -> Files:
    """`n` prompts that were queued, and then taken from the queue in the middle of a turn."""
    when = "2026-01-01T00:00:00.000Z"
    rows = [asked(), *(answered(at, at - 1) for at in range(1, n + 1))]
    queue = {"type": "queue-operation", "sessionId": SESSION, "timestamp": when}
    rows += [{**queue, "operation": "enqueue", "content": f"also {at}"} for at in range(n)]
    rows += [{**queue, "operation": "remove", "content": f"also {n - 1 - at}"} for at in range(n)]
    rows += [asked(n + 1 + at, n + at, f"also {n - 1 - at}") for at in range(n)]
    return session(*rows)


def summaries(n: int) -> Files:
    """`n` titles of the same row."""
    titles = [{"type": "summary", "summary": f"title {at}", "leafUuid": row_id(1)} for at in range(n)]
    return session(asked(), answered(1, 0), *titles)


def nested_input(n: int) -> Files:
    """A call whose input is one list in another, `n` deep."""
    marker = json.dumps("NESTED")
    files = session(asked(), answered(1, 0, call(0, "Odd", value="NESTED")))
    return {name: data.replace(marker.encode(), b"[" * n + b"]" * n) for name, data in files.items()}


def tiny_values(n: int) -> Files:
    """A call whose input is `n` small numbers, and a result with as many."""
    results = record("user", 2, 1, [result(0)], toolUseResult={"numbers": list(range(n))})
    return session(asked(), answered(1, 0, call(0, "Odd", numbers=[1] * n)), results, answered(3, 2))


def tiny_objects(n: int) -> Files:
    """The same with objects: empty ones, and some with one field."""
    results = record("user", 2, 1, [result(0)], toolUseResult={"objects": [{"a": 1}] * n})
    return session(asked(), answered(1, 0, call(0, "Odd", objects=[{}] * n)), results, answered(3, 2))


def texts(unit: str) -> Callable[[int], Files]:
    """An answer, a prompt and a result that say the same `n` times."""

    def made(n: int) -> Files:
        text = unit * n
        shown = record("user", 2, 1, [result(0, text)])
        return session(asked(0, None, text), answered(1, 0, {"type": "text", "text": text}, call(0)), shown)

    return made


SHAPES: Final[dict[str, Callable[[int], Files]]] = {
    made.__name__: made
    for made in (
        text_blocks, call_blocks, result_blocks, spread_results, result_parts, prompt_blocks, same_call,
        pictures, same_message, same_row,
        chain, turns, prompts_alone, branches, comb, cut_turns, cut_results, agents, agents_alone, inline_agents,
        compactions, sharing_sessions, forked_forks, queued, summaries, nested_input, tiny_values, tiny_objects,
    )
}  # fmt: skip

UNITS: Final = {
    "no spaces": "x",
    "spaces": " ",
    "newlines": "\n",
    "ansi colours": "\x1b[31mx",
    "ansi unfinished": "\x1b[",
    "ansi strings": "\x1b]8;;",
    "backticks": "`",
    "backticks and spaces": "` ",
    "brackets": "[",
    "bracket pairs": "[a](",
    "pictures": "![",
    "closed brackets": "[]",
    "stars": "*",
    "stars and letters": "*a ",
    "two stars": "**a",
    "underscores": "_a ",
    "less than": "<",
    "tags": "<a ",
    "comments": "<!--",
    "quotes": "> ",
    "lists": "- ",
    "nested lists": "- a\n  ",
    "table rows": "|a|b|\n",
    "table": "|",
    "definitions": "[a]: b\n",
    "references": "[a][",
    "footnotes": "[^1]",
    "footnote definitions": "[^1]: a\n",
    "addresses": "http://a.b/",
    "addresses and brackets": "http://a.b/)(",
    "addresses and stops": "http://a.b/...... ",
    "reminders": "<system-reminder>",
    "closed reminders": "</system-reminder>",
    "fences": "```\n",
    "tildes": "~",
    "dollars": "$",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "ampersands": "&",
    "entities": "&amp;",
    "carriage returns": "\r",
    "bidi": "‮",
    "headings": "#\n",
    "dashes": "-\n",
    "equals": "a\n=\n",
}


def text_shapes() -> Iterator[tuple[str, Callable[[int], Files]]]:
    """The shapes of texts."""
    for name, unit in UNITS.items():
        yield f"text: {name}", texts(unit)
