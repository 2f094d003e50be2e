"""Homes whose every session wants to harm the reader: each field of a transcript, each name, each payload.

`hostile_home` is a whole home; `turn` is one turn to be appended to a session. No product code; nothing is read back.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.drawings import Row, jsonl, line, session_uuid
from tests.support.hostile_turns import Fill, Poison, Twist, answer, calls, notes, outside, picture
from tests.support.payloads import TEMPLATES, armed, culprit, number_of
from tests.support.payloads_odd import BOMBS
from tests.support.samples import TRY_ALL

__all__ = ["Poison", "Twist", "culprit", "picture"]

COUNT: Final = len(TEMPLATES)
FIELDS: Final = session_uuid("hostile-fields")
"""A session in which every field has had every payload, if it is as many turns long as there are payloads."""
IDS: Final = session_uuid("hostile-ids")
"""A session whose rows, messages, calls and agents have payloads as their ids."""
TWISTED: Final = session_uuid("hostile-twisted")
"""A session that has anything but a text where there should be one."""
LARGE: Final = session_uuid("hostile-large")
"""A session whose texts are too much of something."""
LIVE: Final = session_uuid("hostile-live")
"""A session to be written to."""
FOLDER: Final = "projects/-home-ada-hostile"


class Pen:
    """Writes rows one below the other into a session."""

    def __init__(self, session: str, agent: str = "") -> None:
        self.session = session
        self.agent = agent
        self.parent: Any = None
        self.count = 0

    def row(self, p: Fill, row: Row, **fields: Any) -> Row:  # noqa: ANN401 - whatever JSON holds
        """A row of the chain, below the last one."""
        self.count += 1
        uuid = f"{self.session[:8]}-{self.agent}-{self.count}"
        minutes, seconds = divmod(self.count, 60)
        hours, minutes = divmod(minutes, 60)
        envelope: Row = {
            "uuid": uuid, "parentUuid": self.parent, "sessionId": self.session, "isSidechain": bool(self.agent),
            "timestamp": f"2026-01-05T{hours % 24:02}:{minutes:02}:{seconds:02}.000Z", "cwd": p("cwd"),
            "version": p("version"), "gitBranch": p("gitBranch"),
        }  # fmt: skip
        if row["type"] == "user" and "toolUseResult" not in row:
            names = ("userType", "slug", "entrypoint", "promptId", "teamName", "requestId", "sessionKind", "agentName")
            envelope |= {name: p(name) for name in names}
        envelope |= {"agentId": self.agent} if self.agent else {}
        written = {**envelope, **row, **fields}
        self.parent = written["uuid"]
        return written


def turn(pen: Pen, p: Fill, number: int) -> Iterator[Row]:
    """A prompt, an answer that calls every tool, the results, notes, and an answer at the end."""
    yield pen.row(p, {"type": "user", "message": {"role": p("role"), "content": p("prompt")}})
    made = [(f"call-{pen.session[:4]}{pen.agent}-{number}-{place}", *call) for place, call in enumerate(calls(p))]
    blocks = [
        *answer(p, f"searched-{pen.session[:4]}{pen.agent}-{number}"),
        *({"type": "tool_use", "id": name, "name": tool, "input": asked} for name, tool, asked, _ in made),
    ]
    usage = {"input_tokens": 10, "output_tokens": 5, "service_tier": p("tier"), "speed": p("speed"),
             "inference_geo": p("geo"), "iterations": p("iterations")}  # fmt: skip
    message = {"role": "assistant", "id": f"message-{pen.session[:4]}{pen.agent}-{number}", "model": p("model"),
               "content": blocks, "stop_reason": p("stop_reason"), "usage": usage}  # fmt: skip
    yield pen.row(p, {"type": "assistant", "message": message, "effort": p("effort")})
    for name, _, _, result in made:
        block = {"type": "tool_result", "tool_use_id": name, "content": result["content"],
                 "is_error": result.get("is_error", False)}  # fmt: skip
        beside = {key: value for key, value in result.items() if key not in ("content", "is_error")}
        yield pen.row(p, {"type": "user", "message": {"role": "user", "content": [block]}, **beside})
    for note in notes(p):
        yield pen.row(p, note)
    yield from outside(p)
    last = {
        **message,
        "id": f"{message['id']}-end",
        "content": [{"type": "text", "text": p("last")}],
        "stop_reason": "end_turn",
    }
    yield pen.row(p, {"type": "assistant", "message": last})


def turns(session: str, numbers: range, agent: str = "") -> Iterator[Row]:
    """So many turns with payloads."""
    pen = Pen(session, agent)
    for number in numbers:
        yield from turn(pen, Poison(number), number)


def live_pen() -> Pen:
    """To write on below what a home has of the session that is written to."""
    pen = Pen(LIVE)
    list(turn(pen, Poison(0), 0))
    return pen


def twisted(session: str = TWISTED) -> Iterator[Row]:
    """Turns without a text where there should be one, and with numbers and times that are none."""
    pen = Pen(session)
    for number in range(len(Twist.VALUES)):
        yield from turn(pen, Twist(number), number)
    usages: tuple[Any, ...] = ("NaN", -1, 1e308, 2**63, 2**200, None, [], {}, "<img src=x onerror=hit(0)>", True, 0.5)
    for number, value in enumerate(usages):
        usage = dict.fromkeys(
            ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), value
        )
        message = {"role": "assistant", "id": f"odd-{number}", "model": "claude-x", "content": f"odd {number}",
                   "usage": {**usage, "cache_creation": {"ephemeral_1h_input_tokens": value}}}  # fmt: skip
        yield pen.row(Poison(number), {"type": "assistant", "message": message})
        metadata = {"trigger": value, "preTokens": value, "postTokens": value, "messagesSummarized": value}
        yield pen.row(Poison(number), {"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata})
    times = ("9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z", "x", 5, None, "2026-02-30T00:00:00Z", "1e999",
             "<img src=x onerror=hit(0)>", "2026-01-05T10:00:00+23:59")  # fmt: skip
    for number, value in enumerate(times):
        prompt = {"type": "user", "message": {"role": "user", "content": f"when {number}"}}
        yield pen.row(Poison(number), prompt, timestamp=value)


def ids() -> Iterator[Row]:
    """A session in which everything that has a name is named by a payload."""
    pen = Pen(IDS)

    def named(kind: int, number: int) -> str:
        return f"{armed(number, number_of(number, 900 + kind))}{kind}.{number}"

    for number in range(COUNT):
        prompt = {"type": "user", "message": {"role": "user", "content": f"prompt {number}"}}
        yield pen.row(Poison(number), prompt, uuid=named(1, number))
        call = {"type": "tool_use", "id": named(2, number), "name": "Bash", "input": {"command": "seq 1000"}}
        message = {"role": "assistant", "id": named(3, number), "model": "claude-x", "content": [call],
                   "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        yield pen.row(Poison(number), {"type": "assistant", "message": message}, uuid=named(4, number))
        content = "\n".join(map(str, range(200))) if number % 20 == 0 else "done"
        block = {"type": "tool_result", "tool_use_id": named(2, number), "content": content}
        message = {"role": "user", "content": [block, *_small_picture()]}
        yield pen.row(Poison(number), {"type": "user", "message": message},
                      uuid=named(5, number), sessionId=named(6, number))  # fmt: skip


def _small_picture() -> Iterator[Row]:
    yield {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}


def large(deep: int = 100_000, long: int = 10_000_000) -> Iterator[Row]:
    """A session of what is too deep, too long, too wide, or too many."""
    pen, p = Pen(LARGE), Poison(0)
    texts = [
        *(bomb.replace("@J", "hit(0)").replace("@U", "http://canary.invalid/0").replace("@N", "0") for bomb in BOMBS),
        ">" * deep, "".join(f"{' ' * depth}- x\n" for depth in range(600)), "* " * deep, "[" * deep,
        "<b>" * deep, "*a_" * deep,
        "\n".join("|" + "a|" * 200 for _ in range(500)), "|a|\n|-|\n" + "|<img src=x onerror=hit(0)>|\n" * 3000,
        "w" * long, "\n" * deep, "[a]: x\n" * 5000, "![a](b)" * 9000, "[^a]" * 9000, "```\n" * 9000,
        "&amp;" * deep, "\x1b[31m" * deep,
        "{" * deep, '{"a":' * deep, "<a href=" * deep, "http://a.b/" * 9000, "- [ ] \n" * 9000,
        "\r" * deep, "\ud800" * 9000, "`" * deep,
    ]  # fmt: skip
    for number, text in enumerate(texts):
        yield pen.row(p, {"type": "user", "message": {"role": "user", "content": text}}, cwd="/x", version="2.0.0")
        call = {"type": "tool_use", "id": f"large-{number}", "name": ("Bash", "Read", "Grep", "mcp__x__y")[number % 4],
                "input": {"command": text[:9000], "file_path": text[:9000], "pattern": text[:9000]}}  # fmt: skip
        message = {"role": "assistant", "id": f"large-{number}", "model": "claude-x", "content": [
            {"type": "text", "text": text[:300_000]}, call]}  # fmt: skip
        yield pen.row(p, {"type": "assistant", "message": message}, cwd="/x", version="2.0.0")
        block = {"type": "tool_result", "tool_use_id": f"large-{number}", "content": text[:200_000]}
        yield pen.row(p, {"type": "user", "message": {"role": "user", "content": [block]}}, cwd="/x", version="2.0.0")


def listed(number: int) -> tuple[str, list[Row]]:
    """A short session of which only titles, names and numbers are seen, and where it lies."""
    session, p = session_uuid(f"hostile-{number}"), Poison(number)
    pen = Pen(session)
    message = {"role": "assistant", "id": f"listed-{number}", "model": p("listed.model"), "content": p("listed.answer"),
               "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    prompt = {"type": "user", "message": {"role": "user", "content": p("listed.prompt")}}
    rows = [pen.row(p, prompt, cwd=p("listed.cwd")), pen.row(p, {"type": "assistant", "message": message})]
    titles: list[Row] = [
        {"type": "agent-name", "agentName": p("title.agent")},
        {"type": "custom-title", "customTitle": p("title.custom")},
        {"type": "ai-title", "aiTitle": p("title.ai")},
        {"type": "summary", "summary": p("title.summary"), "leafUuid": rows[-1]["uuid"]},
        {"type": "mode", "mode": p("mode")},
    ]  # fmt: skip
    rows += [
        {**titles[number % len(titles)], "sessionId": session},
        {"type": "tag", "tag": p("tag"), "sessionId": session},
    ]
    return f"projects/{file_name(p('folder'))}/{session}.jsonl", rows


def agent_names() -> tuple[str, ...]:
    """The agents of the session of all fields; the first one is called by its first turn."""
    return ("a11ce", file_name(armed(9, 1)), file_name(Poison(5)("agent.file")))


def file_name(text: str) -> str:
    """As much of a payload as can be the name of a file."""
    data = text.replace("/", "∕").replace("\0", "␀").encode("utf-8", "replace")[:150]
    return data.decode("utf-8", "ignore").lstrip(".") or "x"


def hostile_home(count: int = COUNT, shown: int = COUNT, *, with_large: bool = True) -> dict[str, bytes]:
    """A home of `shown` short sessions, and long ones of `count` turns."""
    files: dict[str, bytes] = {}
    for number in range(shown):
        path, rows = listed(number)
        files[path] = jsonl(rows)
    titled = line({"type": "custom-title", "customTitle": Poison(3)("title.custom"), "sessionId": FIELDS}) + b"\n"
    files |= {
        f"{FOLDER}/{FIELDS}.jsonl": jsonl(turns(FIELDS, range(count))) + titled,
        f"{FOLDER}/{IDS}.jsonl": jsonl(ids()),
        f"{FOLDER}/{TWISTED}.jsonl": jsonl(twisted()),
        f"{FOLDER}/{LIVE}.jsonl": jsonl(turns(LIVE, range(1))),
    }
    if with_large:
        files[f"{FOLDER}/{LARGE}.jsonl"] = jsonl(large() if TRY_ALL else large(20_000, 2_000_000))
    beside = f"{FOLDER}/{FIELDS}"
    p = Poison(5)
    for number, name in enumerate(agent_names()):
        meta = {
            "agentType": p("meta.type"),
            "description": p("meta.description"),
            "name": p("meta.name"),
            "model": p("meta.model"),
        }
        meta |= {"toolUseId": f"call-{FIELDS[:4]}-0-27"} if number == 0 else {}
        files[f"{beside}/subagents/agent-{name}.jsonl"] = jsonl(turns(FIELDS, range(number * 9, number * 9 + 3), name))
        files[f"{beside}/subagents/agent-{name}.meta.json"] = line(meta)
    files |= {
        f"{beside}/custom-title.json": line({"customTitle": p("beside.title")}),
        f"{beside}/tool-results/{file_name(p('spilled'))}.txt": p("spilled.text").encode("utf-8", "replace"),
        f"{FOLDER}/sessions-index.json": line(
            {"version": 1, "entries": [{"sessionId": IDS, "summary": p("index.summary")}]}
        ),
        "history.jsonl": jsonl([{"display": p("history"), "project": p("history.project"), "timestamp": 1}]),
        f"sessions/{os.getpid()}.json": line(_running(p)),
    }  # fmt: skip
    return files


def _running(p: Fill) -> Row:
    """What says that a session runs now: it is this very process."""
    stat = Path("/proc/self/stat")
    start = stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[19] if stat.exists() else ""
    return {"pid": os.getpid(), "sessionId": LIVE, "cwd": p("live.cwd"), "startedAt": 1, "procStart": start,
            "updatedAt": 2,
            "version": p("live.version"), "kind": p("live.kind"), "name": p("live.name"), "status": "waiting",
            "waitingFor": p("live.waiting"), "entrypoint": p("live.entrypoint")}  # fmt: skip


def template_of(number: int) -> str:
    """A payload as it is written down."""
    return TEMPLATES[number % COUNT]
