r"""Session drawings: small sessions drawn as text, turned into the rows Claude Code would write.

Produces the shapes that real files have. Never imports the product, so a drawing cannot agree with a bug of ours, and
writes nothing to disk (`homes` does).

    @ version=2.1.42 session=S1 cwd=/home/ada/shop
    a <- - user: fix the parser
    b <- a thinking(m1): where is it?
    c <- b call(m1) t1 Read {"file_path": "x.py"}
    d <- c result t1: contents
    e <- d assistant(m2): done
    custom-title: The parser

One line is one row; Python's own `\` at its end carries a long one on. Blank lines and lines that begin with `#` are
nothing. A line is

    ID <- PARENT KIND WORDS: TEXT {FIELDS}   a chain row; ID and PARENT are the uuids as they stand, PARENT `-` is null
    TYPE WORDS: TEXT {FIELDS}                a row outside the chain
    raw {ROW}                                exactly this object, nothing added
    @ KEY=VALUE … {FIELDS}                   defaults for the rows below

Chain rows (m1 is a `message.id`; without it the row is a message of its own, `msg_<ID>`):

    user: TEXT                  meta: TEXT (isMeta)             compact-summary: TEXT
    assistant(m1): TEXT         thinking(m1): TEXT              call(m1) TOOL_ID TOOL_NAME {INPUT}
    result TOOL_ID: TEXT        error TOOL_ID: TEXT (is_error, a string as toolUseResult)
    system SUBTYPE: TEXT        compact(logical=b) TRIGGER      (`auto` unless said; a compact_boundary)
    attachment TYPE: TEXT       progress DATA_TYPE TOOL_ID: TEXT

Rows outside the chain are listed in `OUTSIDE_ROWS`: `pr-link 12 https://…`, `last-prompt d: TEXT`, `last-prompt -` for
a null leaf. A type that is not there takes no words and no text, only {FIELDS}: `cost-state {"totalCostUSD": 1.5}`.

The rules that hold everywhere:

- TEXT, which may be left out with its colon, runs to {FIELDS} or the end. One that is a JSON string stands for its
  value (`user: "two\nlines"`), one that is a JSON array of objects for these content blocks.
- {FIELDS} is the JSON object a line ends with. It is merged into the row, objects key by key; null is written as null.
  A given toolUseResult is the whole of it. A text that ends with an object is closed: `user: what is {"a": 1} {}`.
- A word `-field` or `-outer.inner` leaves that field out: `a <- - user -timestamp -message.role: hi`.
- `@` keys are those of `DEFAULTS`: agent is isSidechain + agentId, forked puts forkedFrom that session, time is that of
  the next row. `agent=` empties one; quotes hold spaces: `cwd="/home/ada/my shop"`. {FIELDS} after `@` are merged into
  every chain row below, until an `@` with other {FIELDS}.
- A session name becomes a UUID by `session_uuid`; one that is a UUID stays. In {FIELDS} write the UUID.
- The clock starts at 2026-01-05T10:00:00.000Z and moves on one second with every row, timed or not.
- Of the rows of one message only the last drawn has a stop_reason. Fields a version did not write yet are left out.
- Any parent and any repeated ID may be drawn: real files miss parents and repeat rows.
"""

import copy
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

Row = dict[str, Any]

DEFAULTS: Final[Mapping[str, str]] = {
    "version": "2.1.42",
    "session": "S1",
    "cwd": "/home/ada/shop",
    "branch": "main",
    "model": "claude-sonnet-4-5-20250929",
    "agent": "",
    "slug": "brave-drawing-heron",
    "forked": "",
    "time": "2026-01-05T10:00:00.000Z",
}

# The oldest version a real row with the field was seen from; agentId came with the agents' own files.
FIRST_VERSION: Final[Mapping[str, tuple[int, ...]]] = {
    "gitBranch": (1, 0, 119),
    "cache_creation": (1, 0, 119),
    "agentId": (2, 0, 28),
    "slug": (2, 0, 71),
    "sourceToolAssistantUUID": (2, 1, 4),
    "inference_geo": (2, 1, 32),
}

# TYPE, the fields its words go to, and after the colon the field of its text.
OUTSIDE_ROWS: Final = """
summary leafUuid: summary
last-prompt leafUuid: lastPrompt
custom-title: customTitle
ai-title: aiTitle
tag: tag
agent-name: agentName
agent-color: agentColor
agent-setting: agentSetting
mode: mode
permission-mode: permissionMode
relocated: relocatedCwd
continued-in continuedInSessionId:
pr-link prNumber prUrl:
queue-operation operation: content
file-history-snapshot messageId:
content-replacement toolUseId: replacement
"""

# Where the text of an attachment or a progress row goes, when it is not `content`.
TEXT_FIELDS: Final = {"queued_command": "prompt", "agent_progress": "prompt", "bash_progress": "output"}


def draw(drawing: str, **defaults: str) -> list[Row]:
    """Return the drawn rows in drawing order; `defaults` are the keys of an `@` line above the first.

    Raises ValueError that names the line and quotes it.
    """
    pen = _Pen()
    pen.set_defaults(defaults)
    rows: list[Row] = []
    # Not splitlines: it would also cut at U+2028 and its like, which a text may hold.
    for number, source in enumerate(map(str.strip, drawing.split("\n")), start=1):
        try:
            if source.startswith("@"):
                pen.read_defaults(source[1:].strip())
            elif source and not source.startswith("#"):
                rows.append(pen.draw_row(source))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}: {source}") from error
    return rows


def jsonl(rows: Iterable[Mapping[str, Any] | bytes]) -> bytes:
    """Return the bytes of a session file; an item that is bytes already is written as it is, without a newline.

    That is how damage is drawn: `jsonl([line(first), second, b'{"type":"us'])` glues two rows and tears the tail.
    """
    return b"".join(row if isinstance(row, bytes) else line(row) + b"\n" for row in rows)


def line(row: Mapping[str, Any]) -> bytes:
    """Return one row as the client writes it, without its newline."""
    # backslashreplace writes a lone surrogate as \udXXX, which is what JSON.stringify does too.
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def session_uuid(name: str) -> str:
    """Return the UUID a session name stands for, the same in every run; a UUID stands for itself."""
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"backscroll:session:{name}"))


class _Line:
    """A line below its `ID <- PARENT`, taken apart."""

    # A word may hold a colon (a URL does): only one before a space or the end begins the text.
    _SHAPE = re.compile(
        r"(?P<kind>[a-z-]+)(\((?P<name>[^)]*)\))?(?P<words>( +[^\s{]\S*?)*?)(:( +|$)(?P<text>.*)| +(?=\{)|$)"
    )
    _REMOVAL = re.compile(r"-[A-Za-z]")

    def __init__(self, source: str) -> None:
        shape = self._SHAPE.match(source)
        if shape is None:
            raise ValueError("neither `ID <- PARENT KIND: TEXT` nor `TYPE: TEXT`")
        words = shape["words"].split()
        self.kind: str = shape["kind"]
        self.name: str | None = shape["name"]
        self.words = [word for word in words if not self._REMOVAL.match(word)]
        self.removals = [word[1:].split(".") for word in words if self._REMOVAL.match(word)]
        self.input: Row = {}
        rest = source[shape.end() :] if shape["text"] is None else shape["text"]
        if self.kind == "call":
            if not rest.startswith("{"):
                raise ValueError("a call needs its {INPUT}")
            self.input, end = json.JSONDecoder().raw_decode(rest)
            rest = rest[end:].strip()
        self.has_fields = rest.endswith("}")
        text, self.fields = _split_fields(rest)
        if text and shape["text"] is None:
            raise ValueError("text needs a colon before it")
        self.text: str | list[Row] | None = None if shape["text"] is None else _content(text)

    def take(self, *names: str) -> list[str]:
        """Return the words of the line, which are one for each of `names`."""
        if len(self.words) != len(names):
            raise ValueError(f"{self.kind} takes {' '.join(names) or 'no words'}, not {' '.join(self.words) or 'none'}")
        return self.words

    def put_text(self, field: str) -> Row:
        return {} if self.text is None else {field: self.text}

    def finish(self, row: Row) -> Row:
        """Put what the line says about fields over what its kind says."""
        if "toolUseResult" in self.fields:
            row.pop("toolUseResult", None)
        _merge(row, self.fields)
        for *outer, last in self.removals:
            try:
                holder = row
                for key in outer:
                    holder = holder[key]
                del holder[last]
            except (KeyError, TypeError) as error:
                raise ValueError(f"there is no {'.'.join([*outer, last])} to leave out") from error
        return row


class _Pen:
    """What the drawing said so far: the defaults, the clock, the tools called, the last row of each message."""

    def __init__(self) -> None:
        self.defaults: dict[str, str] = {}
        self.fields: Row = {}
        self.tool_names: dict[str, str] = {}
        self.last_of_message: dict[str, Row] = {}
        self.set_defaults(DEFAULTS)

    def set_defaults(self, values: Mapping[str, str]) -> None:
        if unknown := sorted(values.keys() - DEFAULTS.keys()):
            raise ValueError(f"no default is called {', '.join(unknown)}")
        self.defaults.update(values)
        if "time" in values:
            moment = datetime.fromisoformat(values["time"])
            self.now = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if not re.match(r"\d+\.\d+\.\d+", self.defaults["version"]):
            raise ValueError(f"{self.defaults['version']!r} is no version")

    def read_defaults(self, source: str) -> None:
        settings, fields = _split_fields(source)
        words = shlex.split(settings)
        if wrong := [word for word in words if "=" not in word]:
            raise ValueError(f"{wrong[0]!r} is not KEY=VALUE")
        self.set_defaults(dict(word.split("=", 1) for word in words))
        self.fields = fields if source.endswith("}") else self.fields

    def draw_row(self, source: str) -> Row:
        chain = re.match(r"(\S+) <- (\S+) +", source)
        drawn = _Line(source[chain.end() :] if chain else source)
        parent = None if chain is None or chain[2] == "-" else chain[2]
        row = self.chain_row(drawn, chain[1], parent) if chain else self.outside_row(drawn)
        self.now += timedelta(seconds=1)
        return drawn.finish(row)

    @property
    def timestamp(self) -> Row:
        moment = self.now.astimezone(UTC).isoformat(timespec="milliseconds")
        return {"timestamp": moment.replace("+00:00", "Z")}

    def writes(self, field: str) -> bool:
        """Whether the version that is drawn writes `field`."""
        return tuple(map(int, re.findall(r"\d+", self.defaults["version"])[:3])) >= FIRST_VERSION[field]

    def chain_row(self, drawn: _Line, row_id: str, parent: str | None) -> Row:
        defaults = self.defaults
        row: Row = {"parentUuid": parent}
        if drawn.kind == "compact" and drawn.name:
            row["logicalParentUuid"] = drawn.name.removeprefix("logical=")
        row |= {"isSidechain": bool(defaults["agent"]), "userType": "external", "cwd": defaults["cwd"]}
        row |= {"sessionId": session_uuid(defaults["session"]), "version": defaults["version"]}
        for field, key in (("gitBranch", "branch"), ("agentId", "agent"), ("slug", "slug")):
            if defaults[key] and self.writes(field):
                row[field] = defaults[key]
        body = self.body(drawn, row_id)
        result = {key: body.pop(key) for key in ("toolUseResult",) if key in body}
        row |= body | {"uuid": row_id} | self.timestamp | result
        if drawn.kind in ("result", "error") and self.writes("sourceToolAssistantUUID"):
            row["sourceToolAssistantUUID"] = parent
        if defaults["forked"]:
            row["forkedFrom"] = {"sessionId": session_uuid(defaults["forked"]), "messageUuid": row_id}
        return _merge(row, self.fields)

    def body(self, drawn: _Line, row_id: str) -> Row:
        """Return what is not envelope."""
        body: Row = {}
        match drawn.kind:
            case "user" | "meta" | "compact-summary":
                drawn.take()
                body = {"type": "user", "message": {"role": "user", "content": drawn.text or ""}}
                marks = {"meta": ["isMeta"], "compact-summary": ["isVisibleInTranscriptOnly", "isCompactSummary"]}
                return body | dict.fromkeys(marks.get(drawn.kind, []), True)
            case "assistant" | "thinking" | "call":
                return self.reply(drawn, row_id)
            case "result" | "error":
                return self.result(drawn, *drawn.take("TOOL_ID"))
            case "system":
                body = {"type": "system", "subtype": drawn.take("SUBTYPE")[0]}
                body |= {} if drawn.text is None else {"content": drawn.text, "level": "info"}
                return body | {"isMeta": False}
            case "compact":
                body = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
                metadata = {"trigger": "".join(drawn.words) or "auto", "preTokens": 150000}
                return body | {"isMeta": False, "level": "info", "compactMetadata": metadata}
            case "attachment":
                (name,) = drawn.take("TYPE")
                body = {"type": name} | drawn.put_text(TEXT_FIELDS.get(name, "content"))
                body |= {"commandMode": "prompt"} if name == "queued_command" else {}
                return {"type": "attachment", "attachment": body}
            case "progress":
                name, tool_id = drawn.take("DATA_TYPE", "TOOL_ID")
                body = {"type": "progress", "data": {"type": name} | drawn.put_text(TEXT_FIELDS.get(name, "content"))}
                return body | {"toolUseID": f"progress-{row_id}", "parentToolUseID": tool_id}
        raise ValueError(f"no chain row is called {drawn.kind}")

    def reply(self, drawn: _Line, row_id: str) -> Row:
        """Return one row of an API message: one block, unless the drawing gives an array of them."""
        block: Row = {"type": "text", "text": drawn.text or ""}
        if drawn.kind == "thinking":
            block = {"type": "thinking", "thinking": drawn.text or "", "signature": f"signature-of-{row_id}"}
        if drawn.kind == "call":
            tool_id, name = drawn.take("TOOL_ID", "TOOL_NAME")
            self.tool_names[tool_id] = name
            block = {"type": "tool_use", "id": tool_id, "name": name, "input": drawn.input}
        else:
            drawn.take()
        usage: Row = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        if self.writes("cache_creation"):
            usage["cache_creation"] = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
        usage |= {"output_tokens": 5, "service_tier": "standard"}
        usage |= {"inference_geo": "not_available"} if self.writes("inference_geo") else {}
        message_id = drawn.name or f"msg_{row_id}"
        message: Row = {"model": self.defaults["model"], "id": message_id, "type": "message", "role": "assistant"}
        message["content"] = drawn.text if isinstance(drawn.text, list) else [block]
        message["stop_reason"] = "tool_use" if drawn.kind == "call" else "end_turn"
        message |= {"stop_sequence": None, "usage": usage}
        if "stop_reason" in (earlier := self.last_of_message.get(message_id, {})):
            earlier["stop_reason"] = None
        if "stop_reason" not in drawn.fields.get("message", {}):
            self.last_of_message[message_id] = message
        return {"message": message, "requestId": f"req_{message_id}", "type": "assistant"}

    def result(self, drawn: _Line, tool_id: str) -> Row:
        text = drawn.text or ""
        block: Row = {"tool_use_id": tool_id, "type": "tool_result", "content": text}
        body: Row = {"type": "user", "message": {"role": "user", "content": [block]}}
        if drawn.kind == "error":
            block["is_error"] = True
            body["toolUseResult"] = f"Error: {text}"
        elif self.tool_names.get(tool_id) == "Bash":
            block["is_error"] = False
            body["toolUseResult"] = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        return body

    def outside_row(self, drawn: _Line) -> Row:
        row: Row = {"type": drawn.kind}
        if shape := re.search(rf"^{drawn.kind}((?: \w+)*): ?(\w*)$", OUTSIDE_ROWS, re.MULTILINE):
            fields = shape[1].split()
            row |= dict(zip(fields, drawn.take(*fields), strict=True))
            row |= drawn.put_text(shape[2]) if shape[2] else {}
        elif not drawn.has_fields or drawn.words or drawn.text is not None:
            raise ValueError(f"no row outside the chain is called {drawn.kind}")
        elif drawn.kind == "raw":
            return {}
        if drawn.kind != "summary":
            row["sessionId"] = session_uuid(self.defaults["session"])
        match drawn.kind:
            case "last-prompt":
                row["leafUuid"] = None if row["leafUuid"] == "-" else row["leafUuid"]
            case "continued-in":
                row["continuedInSessionId"] = session_uuid(row["continuedInSessionId"])
            case "pr-link":
                row |= {"prNumber": int(row["prNumber"]), "prRepository": "/".join(row["prUrl"].split("/")[3:5])}
                row |= self.timestamp
            case "queue-operation":
                row |= self.timestamp
            case "file-history-snapshot":
                snapshot = {"messageId": row["messageId"], "trackedFileBackups": {}} | self.timestamp
                row = {"type": drawn.kind, "messageId": row["messageId"], "snapshot": snapshot}
                row["isSnapshotUpdate"] = False
            case "content-replacement":
                row["replacements"] = [{"toolUseId": row.pop("toolUseId"), "replacement": row.pop("replacement", "")}]
        return row


def _content(text: str) -> str | list[Row]:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    blocks = isinstance(value, list) and all(isinstance(block, dict) for block in value)
    return value if blocks or isinstance(value, str) else text


def _split_fields(text: str) -> tuple[str, Row]:
    """Return the text before the JSON object it ends with, and the object."""
    for brace in re.finditer(r"(?<!\S)\{", text):
        try:
            return text[: brace.start()].rstrip(), json.loads(text[brace.start() :])
        except ValueError:
            continue
    if re.search(r'(?<!\S)\{".*\}$', text):
        raise ValueError("the {FIELDS} are no JSON (if they are text, close it with {})")
    return text, {}


def _merge(row: Row, fields: Mapping[str, Any]) -> Row:
    for key, value in fields.items():
        if isinstance(value, dict) and isinstance(row.get(key), dict):
            _merge(row[key], value)
        else:
            # A copy: `@` fields go into many rows, and a row's own fields must not reach the others.
            row[key] = copy.deepcopy(value)
    return row
