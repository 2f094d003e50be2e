"""Words that stand in one record only, with that record: what a search over a home has to find.

Reads the raw lines with plain `json` and knows the wire names by itself, so that a mistake in the product's own
extraction does not repeat itself here. A word is a maximal run of letters and digits, in folded case. No product code.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

LONGEST_WORD: Final = 100
"""Anything longer is data, not a word."""
NONE: Final[frozenset[str]] = frozenset()
MARKS: Final = frozenset(
    """type uuid source_uuid delivery_id timestamp toolUseID tool_use_id commandMode signature""".split()
)
"""Fields inside what was said that are for the client only."""

COMMAND_TAG: Final = re.compile(r"</?(?:command|local-command|bash)-[a-z]+>")
"""What the client puts around a command that was typed: nobody said it."""


class RareWord(NamedTuple):
    """A word, and the only record where it stands."""

    word: str
    kind: str
    """One of KINDS."""
    file: Path
    """The session's own file, an agent's, or the spilled result; the first by name that has a copy of the record."""
    uuid: str | None
    """Of the record. None where it has none, and for a spilled result."""
    sessions: frozenset[str]
    """The sessions that have a copy of the record: mostly one."""


KINDS: Final = (
    "prompt",
    "answer",
    "thinking",
    "tool-input",
    "tool-output",
    "attachment",
    "title",
    "system",
    "unknown",
    "agent",
    "spilled",
    "part",
)
"""`prompt`: any text of a user row. `title`: summaries and titles. `unknown`: records and blocks of other types.
`agent`: anything in a sub-agent's file, or that a progress row repeats of it.
`part`: a part of a camelCase identifier, of any kind of text."""


CLIENT_TEXT: Final = frozenset({
    "prompt_snapshot", "skill_listing", "agent_listing_delta", "deferred_tools_delta", "environment", "session_context",
    "remote_session_change",
})  # fmt: skip
"""Attachments that no search is to find: what the client tells the model in every session."""


class _Record(NamedTuple):
    """A line, or a spilled result."""

    file: Path
    key: str
    """What tells it from others: copies share it."""
    uuid: str | None
    pieces: list[tuple[str, str]]
    """What a search is to find: kinds and texts."""
    everything: str
    """All strings in it, including those that are not part of a message."""


def rare_words(home: Path, count_per_kind: int, seed: int) -> list[RareWord]:
    """Up to so many words of each kind that stand in exactly one record of the home, drawn by the seed.

    Copies of a record are one record. What no kind is made of (progress, `toolUseResult`, the names of fields …) may
    repeat a word inside the same session, and in no other: whatever a search reads, it has to name this session.
    """
    records: dict[str, _Record] = {}
    sessions: dict[str, set[str]] = defaultdict(set)
    stands_in: dict[str, str | None] = {}
    kinds: dict[str, str] = {}
    for record in _records(home):
        records.setdefault(record.key, record._replace(everything="", pieces=[]))
        sessions[record.key].add(_session(record.file))
        for kind, text in record.pieces:
            words, parts = _words(COMMAND_TAG.sub(" ", text) if text.startswith("<") else text)
            for word in words | parts:
                if stands_in.setdefault(word, record.key) != record.key:
                    stands_in[word] = None  # in two records: not unique
                # A part that also stands alone is found without being a part.
                if kinds.get(word, "part") == "part":
                    kinds[word] = kind if word in words else "part"
    only = {word: key for word, key in stands_in.items() if key and MIN_LENGTH <= len(word) <= LONGEST_WORD}
    for record in _records(home):
        session = _session(record.file)
        for word in only.keys() & set().union(*_words(record.everything)):
            if only[word] != record.key and session not in sessions[only[word]]:
                del only[word]
    found: dict[str, list[RareWord]] = defaultdict(list)
    for word, key in sorted(only.items()):
        place = records[key]
        found[kinds[word]].append(RareWord(word, kinds[word], place.file, place.uuid, frozenset(sessions[key])))
    random = Random(seed)
    return [word for kind in KINDS for word in random.sample(found[kind], min(count_per_kind, len(found[kind])))]


def _records(home: Path) -> Iterator[_Record]:
    for file in sorted(path for path in (home / "projects").rglob("*") if path.is_file()):
        if file.parent.name == "tool-results":
            text = _spilled(file)
            yield _Record(file, str(file), None, [("spilled", text)], text)
        elif NAMES.fullmatch(file.name):
            for number, line in enumerate(file.read_bytes().split(b"\n")):
                yield _record(file, number, line.decode("utf-8", "replace").strip("\0 \r"))


def _record(file: Path, number: int, line: str) -> _Record:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        # Empty, damaged, or two on one line. It says something all the same: what stands here is not rare elsewhere.
        return _Record(file, f"{file}:{number}", None, [], line)
    data = row.get("data") if row.get("type") == "progress" else None
    repeated = data.get("message") if isinstance(data, dict) and data.get("type") == "agent_progress" else None
    said = repeated if isinstance(repeated, dict) else row
    uuid = said.get("uuid") if isinstance(said.get("uuid"), str) else None
    pieces = list(_said(said))
    if file.name.startswith("agent-") or said is not row:
        pieces = [("agent", text) for _, text in pieces]
    return _Record(file, uuid or _identity(row), uuid, pieces, "\n".join(_strings(row, everything=True)))


def _identity(row: dict[str, Any]) -> str:
    """Rows outside the chain are written again and again, and into other files: what they say makes them one."""
    return json.dumps({key: value for key, value in row.items() if key not in ENVELOPE}, sort_keys=True)


def _spilled(file: Path) -> str:
    data = file.read_bytes()
    if file.suffix == ".json":
        try:
            return "\n".join(_strings(json.loads(data), without=MARKS))
        except ValueError:
            pass
    return data.decode("utf-8", "replace")


def _said(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The pieces of text in a record, each with its kind."""
    name = row.get("type")
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if name in TITLES:
        yield from (("title", row[field]) for field in TITLES[name] if isinstance(row.get(field), str))
    elif name in ("user", "assistant"):
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict):
                yield from _said_in(block, "prompt" if name == "user" else "answer")
    elif name == "system":
        yield "system", "\n".join(_strings(row.get("content")))
    elif name == "attachment":
        body = row.get("attachment") or {}
        if body.get("type") not in CLIENT_TEXT:
            said = body.get("prompt") if body.get("type") == "queued_command" else body
            yield "attachment", "\n".join(_strings(said, without=MARKS))
    elif isinstance(name, str) and name not in OTHERS and not name.startswith("api-request"):
        yield "unknown", "\n".join(_strings({key: row[key] for key in row if key not in ENVELOPE}))


def _said_in(block: dict[str, Any], speaker: str) -> Iterator[tuple[str, str]]:
    match block.get("type"):
        case "text":
            yield speaker, "\n".join(_strings(block.get("text")))
        case "thinking":
            yield "thinking", "\n".join(_strings(block.get("thinking")))
        case "tool_use" | "server_tool_use":
            yield "tool-input", "\n".join(_strings(block.get("input")))
        case "tool_result":
            yield "tool-output", "\n".join(_strings(block.get("content"), without=MARKS))
        case name if name not in SILENT_BLOCKS:
            yield "unknown", "\n".join(_strings(block, without=MARKS))


def _strings(value: object, *, without: frozenset[str] = NONE, everything: bool = False) -> Iterator[str]:
    """The strings inside a JSON value, without pictures and documents; with everything, the names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        is_binary = value.get("type") in ("image", "document", "base64")
        for key, item in value.items():
            if everything:
                yield key
            if everything or not (is_binary or key in without):
                yield from _strings(item, without=without, everything=everything)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, without=without, everything=everything)
    elif everything:
        yield str(value)


def _words(text: str) -> tuple[set[str], set[str]]:
    """The words of a text, and the parts of its identifiers in camelCase, where every reader would split them alike."""
    found = set(WORD.findall(text))
    parts = {
        part.casefold()
        for word in found
        if not word.islower() and len(word) <= LONGEST_WORD and CAMEL.search(word)
        for part in PART.findall(word)
    }
    return {word.casefold() for word in found}, parts


@cache
def _session(file: Path) -> str:
    """Whose file it is: by its name, or the folder it is in; else its rows say so, as with agents up to 2.1.1."""
    for name in (file.stem, *(parent.name for parent in file.parents)):
        if UUID.fullmatch(name):
            return name
    match = re.search(rb'"sessionId"\s*:\s*"([^"]+)"', file.read_bytes())
    return match.group(1).decode() if match else ""


MIN_LENGTH: Final = 4
WORD: Final = re.compile(r"[^\W_]+")
CAMEL: Final = re.compile(r"[a-z][A-Z]")
PART: Final = re.compile(r"(?:^[A-Za-z]|(?<=[a-z])[A-Z])[a-z]{3,}(?=[A-Z]|$)")
"""Not beside digits and abbreviations: rules differ there."""
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMES: Final = re.compile(rf"(?:{UUID.pattern}|agent-.+)\.jsonl")
TITLES: Final = {
    "summary": ("summary",),
    "ai-title": ("aiTitle",),
    "custom-title": ("customTitle",),
    "agent-name": ("agentName",),
    "tag": ("tag",),
}
OTHERS: Final = frozenset(
    """progress last-prompt file-history-snapshot file-history-delta queue-operation agent-color agent-setting mode
    permission-mode pr-link worktree-state content-replacement attribution-snapshot fork-context-ref relocated
    cost-state continued-in derived-from ended-by-model bridge-session tools-used atis-latch""".split()
)
"""Known, and nothing that was said."""
SILENT_BLOCKS: Final = frozenset({"image", "document", "redacted_thinking", "tool_reference"})
ENVELOPE: Final = frozenset(
    """type uuid parentUuid logicalParentUuid isSidechain userType cwd sessionId version gitBranch slug timestamp
    agentId requestId""".split()
)
