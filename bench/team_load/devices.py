"""Devices that push to a team server: the requests of a real push, with records that are made here.

A push lists, writes one bundle, and merges small objects when there are many, by the code of `sync`. What is simulated
is the archive behind it: records are made in memory, and what a state file would hold is kept there too.
"""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from backscroll.errors import BackscrollError
from backscroll.sync.bundles import NO_BUNDLE, FileFacts, Index, SentSegment, encode_bundle
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.objects import BundleObject, folder_of
from backscroll.sync.outgoing import rules_digest
from backscroll.sync.policy import SyncMode
from backscroll.sync.removal import MAX_SMALL_OBJECTS, merge_small
from backscroll.sync.streams import StreamKey, extend, first_head
from backscroll.team.arrival.devices import Credential
from bench.generator.texts import GeneratedTexts

HOME = "/home/user/.claude"
VERSIONS = ("1.0.128", "2.0.14", "2.1.20", "2.2.3")
"""Versions of Claude Code that write at the same time."""
MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
POOL_BYTES = 2_000_000
RESULT_BYTES = 6_000
ANSWER_BYTES = 900
PROMPT_BYTES = 250


class Records:
    """The lines of one session, as a client writes them: a prompt, then answers, calls and their results."""

    def __init__(self, texts: GeneratedTexts, rng: Random, project: str, began: datetime | None = None) -> None:
        """With `began` it was written then, a record a minute; otherwise now."""
        self._texts, self._rng, self._began = texts, rng, began
        self.session = str(UUID(int=rng.getrandbits(128), version=4))
        self._project = f"/home/user/{project}"
        self.path = f"projects/{self._project.replace('/', '-')}/{self.session}.jsonl"
        self._version = rng.choice(VERSIONS)
        self._model = rng.choice(MODELS)
        self._parent: str | None = None
        self._step = 0

    def next_line(self, needle: str = "") -> bytes:
        """The next record; `needle` is a word in it."""
        rng, texts = self._rng, self._texts
        self._step += 1
        uuid = str(UUID(int=rng.getrandbits(128), version=4))
        when = self._began + self._step * timedelta(minutes=1) if self._began else datetime.now(UTC)
        common = (
            f'"parentUuid":{json.dumps(self._parent)},"isSidechain":false,"userType":"external","cwd":"{self._project}",'
            f'"sessionId":"{self.session}","version":"{self._version}","gitBranch":"main","uuid":"{uuid}",'
            f'"timestamp":"{when.isoformat(timespec="milliseconds").removesuffix("+00:00")}Z"'
        )
        self._parent = uuid
        match self._step % 4:
            case 1:
                text = texts.prose(rng, PROMPT_BYTES)
                body = f'"type":"user","message":{{"role":"user","content":"{needle} {text}"}}'
            case 2 | 0:
                body = self._answer(f'{{"type":"text","text":"{needle} {texts.prose(rng, ANSWER_BYTES)}"}}')
                if self._step % 4 == 2:
                    call = f'"id":"toolu_{self._step}{self.session[:8]}","name":"Bash"'
                    given = f'"input":{{"command":"{texts.command(rng)}","description":"{needle}"}}'
                    body = self._answer(f'{{"type":"tool_use",{call},{given}}}')
            case _:
                output = texts.output(rng, int(RESULT_BYTES * rng.random()))
                block = f'"tool_use_id":"toolu_{self._step - 1}{self.session[:8]}","type":"tool_result"'
                content = f'[{{{block},"content":"{needle} {output}"}}]'
                body = f'"type":"user","message":{{"role":"user","content":{content}}}'
        return f"{{{common},{body}}}\n".encode()

    def _answer(self, block: str) -> str:
        rng = self._rng
        usage = (
            f'"input_tokens":{rng.randrange(10, 900)},"output_tokens":{rng.randrange(50, 2000)},'
            f'"cache_creation_input_tokens":{rng.randrange(5000)},"cache_read_input_tokens":{rng.randrange(90_000)}'
        )
        return (
            f'"type":"assistant","requestId":"req_{self._step}{self.session[:8]}","message":{{"role":"assistant",'
            f'"id":"msg_{self._step}{self.session[:8]}","type":"message","model":"{self._model}","content":[{block}],'
            f'"stop_reason":"end_turn","usage":{{{usage}}}}}'
        )


@dataclass
class LoadDevice:
    """A device that was let in, and what it has sent."""

    credential: Credential
    remote: HttpRemote
    log: str = "000001-bbbbbbbb"
    number: int = 0
    previous: str = NO_BUNDLE
    lines: int = 0
    size: int = 0
    waits: int = 0
    sessions: list["SessionStream"] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, url: str, credential: Credential) -> "LoadDevice":
        """The device with this credential."""
        device = cls(credential, HttpRemote(url, credential.secret, sleep=lambda seconds: device.wait(seconds)))
        return device

    def wait(self, seconds: float) -> None:
        """The server was busy: wait before asking again."""
        self.waits += 1
        time.sleep(seconds)

    def push(self, parts: list[tuple["SessionStream", bytes]]) -> int:
        """Send these lines of some sessions; return how many bytes left, packed."""
        name = self.credential.device
        listing = list(self.remote.list(folder_of(name)))
        sent = [stream.segment(data) for stream, data in parts]
        index = Index(device=name, machine=name, number=self.number + 1, previous=self.previous,
                      at=datetime.now(UTC).isoformat(timespec="seconds"), entries=[])  # fmt: skip
        index, packed = encode_bundle(index, sent)
        self.remote.put(BundleObject(name, self.log, index.number, index.number, 0).name, packed)
        self.number, self.previous = index.number, index.hash
        for (stream, data), part in zip(parts, sent, strict=True):
            stream.head = part.segment.head
            self.lines += data.count(b"\n")
            self.size += len(data)
        if len(listing) >= MAX_SMALL_OBJECTS:
            merge_small(self.remote, name)
        return len(packed)


class SessionStream:
    """A session file of a device, as a stream."""

    def __init__(self, path: str) -> None:
        self._key = StreamKey(HOME, path, 1)
        self.path = path
        self.head = first_head(self._key)

    def segment(self, data: bytes) -> SentSegment:
        """The next segment of it."""
        facts = FileFacts(home=HOME, path=self.path, version=1, generation=0, type="session",
                          modified_ns=time.time_ns(), rules=rules_digest(SyncMode.FULL))  # fmt: skip
        segment = extend(self.head, data)
        return SentSegment(self._key, facts, segment, segment.head.size, is_end=False, before=self.head)


@dataclass
class Sent:
    """A push, and the word by which it is found."""

    needle: str
    device: str
    size: int
    began: float
    """When the record was written."""
    stored: float = 0.0
    """When the device had its receipt."""
    found: float = 0.0
    in_burst: bool = False


class Fleet:
    """All devices, each of which appends to its session at its own pace."""

    def __init__(self, devices: list[LoadDevice], seed: int, threads: int = 24) -> None:
        self.devices = devices
        self.texts = GeneratedTexts(seed, POOL_BYTES)
        self._rng = Random(f"fleet {seed}")
        self._records = [Records(self.texts, Random(f"{seed} {n}"), f"project{n % 17}") for n in range(len(devices))]
        for device, records in zip(devices, self._records, strict=True):
            device.sessions.append(SessionStream(records.path))
        self._executor = ThreadPoolExecutor(threads)
        self.sent: list[Sent] = []
        self.errors: list[str] = []
        self.packed = 0
        self._lock = threading.Lock()
        self._run = f"{seed:x}{time.time_ns() // 1_000_000_000:x}"
        self._count = 0

    def run(self, seconds: float, rate: float, pace: float, burst_bytes: int, on_sent: "list[Sent]") -> float:
        """Append so many bytes a second in all, each device every `pace` seconds on average; then wait for the last.

        After four tenths of the time every device sends a backlog at once. Returns the seconds that it took.
        """
        began = time.monotonic()
        due = [(began + self._rng.random() * pace, number) for number in range(len(self.devices))]
        each = rate * pace / len(self.devices)
        burst_at = began + 0.4 * seconds if burst_bytes else float("inf")
        while True:
            due.sort()
            at, number = due[0]
            if at > began + seconds:
                break
            if time.monotonic() > burst_at:
                burst_at = float("inf")
                for one in range(len(self.devices)):
                    self._executor.submit(self._append, one, burst_bytes, time.monotonic(), on_sent, True)
            wait = min(at, burst_at) - time.monotonic()
            if wait > 0:
                time.sleep(wait)
                continue
            self._executor.submit(self._append, number, each * (0.5 + self._rng.random()), at, on_sent, False)
            due[0] = (at + pace * (0.5 + self._rng.random()), number)
        self._executor.shutdown()
        return time.monotonic() - began

    def _append(self, number: int, size: float, began: float, on_sent: "list[Sent]", in_burst: bool) -> None:
        device, records = self.devices[number], self._records[number]
        with device.lock:
            with self._lock:
                self._count += 1
                needle = f"ndl{self._run}x{self._count}"
            lines = [records.next_line(needle)]
            while sum(map(len, lines)) < size:
                lines.append(records.next_line())
            data = b"".join(lines)
            one = Sent(needle, device.credential.device, len(data), began, in_burst=in_burst)
            try:
                packed = device.push([(device.sessions[0], data)])
            except (BackscrollError, OSError) as error:
                with self._lock:
                    self.errors.append(f"push: {error}")
                return
            one.stored = time.monotonic()
            with self._lock:
                self.packed += packed
                self.sent.append(one)
                on_sent.append(one)
