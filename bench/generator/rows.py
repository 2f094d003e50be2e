"""The shape of single rows: which client writes what, and how a line is put together.

Lines are put together as text, not with json.dumps: every part that comes in is already escaped, and that is what
makes a 20 GB home a matter of minutes. What a session tells is the business of `stories`.
"""

import binascii
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Protocol

_LETTERS_FOR_SIGNS = bytes.maketrans(b"+/=\n", b"Kqzw")


class Sink(Protocol):
    """Where the lines of one file go."""

    size: int

    def write(self, line: bytes) -> None:
        """Take one complete line, newline included."""


@dataclass(slots=True)
class Tally:
    """Counts of what was written."""

    records: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class GeneratingClient:
    """One version of Claude Code, and what it does differently from the others."""

    version: str
    number: tuple[int, int, int]
    agents: str
    """Where sub-agents go: `inline`, `beside` or `under`."""
    progress: bool
    modern: bool
    """Attachments, titles and modes as rows, the envelope at the end of the line, no thinking text."""
    summaries: bool
    snapshots: bool
    spills: bool
    placeholders: bool
    old_resume: bool
    arrow: str
    """The separator of line number and text in a Read result."""


def client(version: str) -> GeneratingClient:
    """The client of that version; the borders are those of FORMAT.md and of the survey."""
    major, minor, patch = (int(part) for part in version.split("."))
    number = (major, minor, patch)
    return GeneratingClient(
        version,
        number,
        agents="inline" if number < (2, 0, 28) else "beside" if number < (2, 1, 2) else "under",
        progress=(2, 1, 12) <= number <= (2, 1, 83),
        modern=number > (2, 1, 83),
        summaries=number <= (2, 1, 20),
        snapshots=number >= (2, 0, 0),
        spills=number >= (2, 0, 60),
        placeholders=number <= (2, 1, 96),
        old_resume=number < (1, 0, 120),
        arrow="→" if (1, 0, 60) <= number < (2, 1, 84) else "\\t",
    )


def new_uuid(rng: Random) -> str:
    """A version 4 uuid from the session's own random numbers."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def new_id(rng: Random, prefix: str) -> str:
    """An id as the API gives them: prefix, `_01`, 22 letters and digits."""
    letters = binascii.b2a_base64(rng.randbytes(17)).translate(_LETTERS_FOR_SIGNS)
    return f"{prefix}_01{letters[:22].decode('ascii')}"


def stamp(milliseconds: int) -> str:
    """The timestamp of a row."""
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{_minute(minutes)}:{seconds:02d}.{rest:03d}Z"


@lru_cache(maxsize=64)
def _minute(minutes: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.gmtime(minutes * 60))


class GeneratedTranscript:
    """Writes the rows of one file, or of the sidechain of one agent inside a file.

    Keeps what the envelope repeats and the uuid of the last row, which is the default parent of the next.
    """

    def __init__(
        self,
        sink: Sink,
        tally: Tally,
        rng: Random,
        *,
        client: GeneratingClient,
        session_id: str,
        cwd: str,
        branch: str,
        slug: str,
        now: int,
        agent_id: str = "",
    ) -> None:
        self.sink = sink
        self.tally = tally
        self.rng = rng
        self.session_id = session_id
        self.cwd = cwd
        self.slug = slug
        self.agent_id = agent_id
        self.now = now
        self.last: str | None = None
        # Set to have the next chain row written after the one that follows it.
        self.hold_next = False
        self._held = b""
        self.branch = branch
        self.client = client
        self.set_client(client, branch)

    def set_client(self, client: GeneratingClient, branch: str) -> None:
        """Change what a resume in the same file may change: the version and the branch."""
        self.client, self.branch = client, branch
        side = f',"isSidechain":{"true" if self.agent_id else "false"}'
        named = f',"agentId":"{self.agent_id}"' if self.agent_id and client.agents != "inline" else ""
        where = f'"cwd":{json.dumps(self.cwd, ensure_ascii=False)},"sessionId":"{self.session_id}"'
        where += f',"version":"{client.version}"'
        if client.number >= (1, 0, 60):
            where += f',"gitBranch":"{branch}"'
        slug = f',"slug":"{self.slug}"' if self.slug and client.number >= (2, 0, 50) else ""
        if client.modern:
            self._head = side + named
            self._tail = f',"userType":"external","entrypoint":"cli",{where}{slug}'
        else:
            self._head = f'{side},"userType":"external",{where}{named}{slug}'
            self._tail = ""

    def wait(self, low: int, high: int) -> None:
        """Let between `low` and `high` milliseconds pass."""
        self.now += low + int(self.rng.random() * (high - low))

    def chain(self, kind: str, body: str, extra: str = "", *, parent: str | None = "", logical: str = "") -> str:
        """Write a chain row and return its uuid. The default parent is the row before; None starts a new chain."""
        uuid = new_uuid(self.rng)
        line = self.line(uuid, body, extra, self.last if parent == "" else parent, logical)
        if self.hold_next:
            self.hold_next, self._held = False, line
        else:
            self.sink.write(line)
            if self._held:
                self.sink.write(self._held)
                self._held = b""
                self.tally.events["early_results"] += 1
        self.tally.records[kind] += 1
        self.last = uuid
        return uuid

    def line(self, uuid: str, body: str, extra: str, parent: str | None, logical: str = "") -> bytes:
        """A chain row as bytes, for the few that are not written in the order they were made."""
        above = f'"{parent}"' if parent else "null"
        if logical:
            above += f',"logicalParentUuid":"{logical}"'
        return (
            f'{{"parentUuid":{above}{self._head},{body},"uuid":"{uuid}","timestamp":"{stamp(self.now)}"'
            f"{extra}{self._tail}}}\n"
        ).encode()

    def apart(self, kind: str, body: str) -> None:
        """Write a row outside the chain; `body` is what follows the type."""
        self.sink.write(f'{{"type":"{kind}",{body}}}\n'.encode())
        self.tally.records[kind] += 1

    def user(self, content: str, extra: str = "", *, parent: str | None = "") -> str:
        """A user row; `content` is JSON, a string or an array."""
        return self.chain(
            "user", f'"type":"user","message":{{"role":"user","content":{content}}}', extra, parent=parent
        )

    def assistant(self, block: str, opening: str, closing: str) -> str:
        """An assistant row with one block; `opening` and `closing` are the parts all rows of the message share."""
        return self.chain("assistant", f"{opening}{block}{closing}")

    def system(self, subtype: str, body: str = "") -> str:
        """A system row."""
        return self.chain("system", f'"type":"system","subtype":"{subtype}"{body}')

    def progress(self, data: str, tool_use_id: str) -> str:
        """A progress row of 2.1.12–2.1.83."""
        return self.chain(
            "progress",
            f'"type":"progress","data":{{{data}}},"toolUseID":"{tool_use_id}","parentToolUseID":"{tool_use_id}"',
        )

    def attachment(self, kind: str, body: str) -> str:
        """An attachment row."""
        return self.chain("attachment", f'"attachment":{{"type":"{kind}",{body}}},"type":"attachment"')
