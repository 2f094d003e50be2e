"""A stand-in for the Anthropic Messages API, for driving the real Claude Code client without a network.

It answers on 127.0.0.1 only, from a script: the text a person typed selects the replies, and how often the model has
answered since then selects the reply. Nothing here knows which conversations exist; they stand in
`scripts/record-transcripts` and in the tests. Standard library only.
"""

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

CHARACTERS_PER_TOKEN = 4
PIECE = 24  # characters in one streamed delta: small enough that even a short reply comes in several
SECONDS_BETWEEN_PINGS = 0.1
ID_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Text:
    """Words for the person."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """A thinking block.

    It is left out where the request did not ask for thinking, and is a signature alone where the request said so.
    """

    text: str
    signature: str = "c2lnbmVkIGJ5IG5vYm9keQ=="


@dataclass(frozen=True)
class ToolUse:
    """A call of a tool.

    Tools were renamed and changed over the versions. `name` may list names, newest first, with `|` between them: the
    first one that the request offers is called. Of `input` only what that tool's schema knows is sent.
    """

    name: str
    input: Mapping[str, object]


@dataclass(frozen=True)
class Pause:
    """Hold the reply back here, so that a test can interrupt it. A client that hangs up ends the pause."""

    seconds: float


Block: TypeAlias = Text | Thinking | ToolUse | Pause


@dataclass(frozen=True)
class Reply:
    """One response of the model.

    `prompt_tokens` replaces the counted size of the prompt; a large number makes the client compact by itself.
    """

    blocks: tuple[Block, ...]
    prompt_tokens: int | None = None

    def __init__(self, *blocks: Block | str, prompt_tokens: int | None = None) -> None:
        """Take the blocks in order; a bare string is a Text."""
        told = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
        object.__setattr__(self, "blocks", told)
        object.__setattr__(self, "prompt_tokens", prompt_tokens)


@dataclass(frozen=True)
class Failure:
    """An answer that is an API error, for example 529 `overloaded_error`."""

    status: int
    kind: str
    message: str


@dataclass(frozen=True)
class Request:
    """One call that the client made."""

    method: str
    path: str
    body: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        return [message for message in self.body.get("messages", []) if isinstance(message, dict)]

    @property
    def tools(self) -> dict[str, JsonObject]:
        """The tools that the model may call, by name."""
        return {tool["name"]: tool for tool in self.body.get("tools", []) if "name" in tool}

    @property
    def system_text(self) -> str:
        return joined_text(self.body.get("system", ""))

    def asks_for(self, kind: str) -> bool:
        """Whether an option such as `thinking` is on."""
        option = self.body.get(kind)
        return isinstance(option, dict) and option.get("type") != "disabled"


Step: TypeAlias = Reply | Failure | Callable[[Request], Reply | Failure]
Script: TypeAlias = Mapping[str, Sequence[Step]]


def joined_text(content: object) -> str:
    """The text of a message's content, which is a string or a list of blocks.

    Tool results are not part of it: what a tool printed must never select a reply.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(block["text"] for block in content if isinstance(block, dict) and block.get("type") == "text")


def scripted_step(script: Script, request: Request) -> Step | None:
    """The step that `request` is at, or None where no prompt of the script stands in it.

    The last prompt of the script that occurs in a user message counts, and the steps are counted by the model's
    answers after it. So the same request always gets the same reply, also when the client tries again.
    """
    answers_since = 0
    for message in reversed(request.messages):
        if message.get("role") == "assistant":
            answers_since += 1
            continue
        text = joined_text(message.get("content"))
        found = [(text.rfind(prompt), prompt) for prompt in script if prompt in text]
        if found:
            steps = script[max(found)[1]]
            # The last step repeats: a client that asks once more than the script foresaw gets an answer all the same.
            return steps[min(answers_since, len(steps) - 1)]
    return None


@dataclass
class Identifiers:
    """Ids in the shape of the real API's, repeatable for one seed."""

    seed: str
    source: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.source = random.Random(self.seed)

    def make(self, prefix: str) -> str:
        return f"{prefix}_01" + "".join(self.source.choices(ID_ALPHABET, k=22))


@dataclass
class PromptCache:
    """Counts tokens as the real API's prompt cache does: what an earlier request of the conversation sent is a read."""

    tokens_seen: dict[str, int] = field(default_factory=dict)

    def count(self, request: Request, reply: Reply) -> JsonObject:
        """The input side of `usage`. `output_tokens` is left to the caller."""
        size = len(json.dumps([request.body.get(part) for part in ("system", "tools", "messages")]))
        total = max(reply.prompt_tokens or size // CHARACTERS_PER_TOKEN, 4)
        conversation = json.dumps([request.body.get("model"), list(request.tools)])
        read = min(self.tokens_seen.get(conversation, 0), total - 4)
        self.tokens_seen[conversation] = total
        written = total - read - 4
        return {
            "input_tokens": 4,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        }


class MessagesApi:
    """The server, as a context manager. `url` is what ANTHROPIC_BASE_URL has to be.

    `requests` keeps every call in order. `unscripted` keeps those to which the script had no reply; they were
    answered with `otherwise`, because a client also asks small things of its own (is the key valid, a title).
    """

    def __init__(self, script: Script, *, otherwise: Step | None = None, seed: str = "") -> None:
        self.script = script
        self.otherwise = otherwise or Reply("Done.")
        self.identifiers = Identifiers(seed)
        self.cache = PromptCache()
        self.requests: list[Request] = []
        self.unscripted: list[Request] = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        # The handler is made by the server, once a connection; a subclass is how it learns whose it is.
        handler = type("Handler", (MessagesHandler,), {"api": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        # Not daemons: closing waits for the replies under way, so no thread outlives the `with`.
        self.server.daemon_threads = False
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def wait_for_request(self, prompt: str, seconds: float = 30) -> bool:
        """Wait until a message request that holds `prompt` in a user's text has come in."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self.lock:
                texts = [joined_text(message.get("content")) for call in self.requests for message in call.messages]
            if any(prompt in text for text in texts):
                return True
            time.sleep(0.05)
        return False

    def step_for(self, request: Request) -> Reply | Failure:
        """What to answer; notes the request when the script does not know it."""
        step = scripted_step(self.script, request)
        if step is None:
            with self.lock:
                self.unscripted.append(request)
            step = self.otherwise
        return step if isinstance(step, Reply | Failure) else step(request)

    def message_for(self, request: Request, reply: Reply) -> JsonObject:
        """The whole answer, as a request without streaming gets it."""
        with self.lock:
            content = list(self.content_of(request, reply))
            message_id = self.identifiers.make("msg")
            usage = self.cache.count(request, reply)
        calls_a_tool = any(block["type"] == "tool_use" for block in content)
        usage["output_tokens"] = 3 + len(json.dumps(content)) // CHARACTERS_PER_TOKEN
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "unknown"),
            "content": content,
            "stop_reason": "tool_use" if calls_a_tool else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }

    def content_of(self, request: Request, reply: Reply) -> Iterator[JsonObject]:
        for block in reply.blocks:
            match block:
                case Text(text):
                    yield {"type": "text", "text": text}
                case Thinking(text, signature):
                    if request.asks_for("thinking"):
                        shown = "" if request.body["thinking"].get("display") == "omitted" else text
                        yield {"type": "thinking", "thinking": shown, "signature": signature}
                case ToolUse(names, tool_input):
                    offered = [name for name in names.split("|") if name in request.tools]
                    name = offered[0] if offered else names.split("|")[0]
                    known = request.tools.get(name, {}).get("input_schema", {}).get("properties", tool_input)
                    sent = {key: value for key, value in tool_input.items() if key in known}
                    yield {"type": "tool_use", "id": self.identifiers.make("toolu"), "name": name, "input": sent}
                case Pause(seconds):
                    yield {"type": "pause", "seconds": seconds}


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def events_of(message: JsonObject) -> Iterator[JsonObject]:
    """The server-sent events that carry `message`; a `pause` block comes out as an event of that type.

    The usage in `message_start` has a placeholder for the output, as the real API's has: the true number only
    comes with `message_delta`.
    """
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 2}}
    yield {"type": "message_start", "message": opening}
    index = 0
    empty: JsonObject
    for block in message["content"]:
        if block["type"] == "pause":
            yield block
            continue
        match block["type"]:
            case "text":
                empty = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            case "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case _:
                empty = {**block, "input": {}}
                written = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(written)]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


class MessagesHandler(BaseHTTPRequestHandler):
    """Speaks HTTP for a MessagesApi. Every connection carries one request, so closing never waits for an idle one."""

    api: ClassVar[MessagesApi]
    protocol_version = "HTTP/1.1"
    server_version = "messages-api"
    sys_version = ""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the base class names it)
        """Say nothing: the requests are kept, and a test's output is not the place for them."""

    def do_POST(self) -> None:
        request = self.take_request()
        match request.path.partition("?")[0]:
            case "/v1/messages":
                self.answer_messages(request)
            case "/v1/messages/count_tokens":
                size = len(json.dumps(request.body)) // CHARACTERS_PER_TOKEN
                self.send_json(200, {"input_tokens": size})
            case _:
                self.send_not_found(request)

    def do_GET(self) -> None:
        request = self.take_request()
        if request.path.partition("?")[0] == "/v1/models":
            self.send_json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        else:
            self.send_not_found(request)

    def do_HEAD(self) -> None:
        """Clients open the connection ahead of the first prompt this way; that it answers is all they ask."""
        self.take_request()
        self.send_head(200, "application/json", 0)

    def do_CONNECT(self) -> None:
        """A client that takes us for a proxy is told no: nothing leaves through here."""
        self.send_not_found(self.take_request())

    def take_request(self) -> Request:
        length = int(self.headers.get("content-length") or 0)
        body: object = {}
        # An unreadable body is kept as an empty one: the answer will be an error, and the request is still counted.
        with contextlib.suppress(ValueError):
            body = json.loads(self.rfile.read(length) or b"{}")
        request = Request(self.command, self.path, body if isinstance(body, dict) else {})
        with self.api.lock:
            self.api.requests.append(request)
        return request

    def answer_messages(self, request: Request) -> None:
        if not isinstance(request.body.get("messages"), list):
            self.send_error_object(Failure(400, "invalid_request_error", "messages: field required"))
            return
        answer = self.api.step_for(request)
        if isinstance(answer, Failure):
            self.send_error_object(answer)
            return
        message = self.api.message_for(request, answer)
        # A client that hung up got what it wanted: it was interrupted.
        with contextlib.suppress(ConnectionError):
            if request.body.get("stream"):
                self.stream(message)
            else:
                for block in message["content"]:
                    if block["type"] == "pause":
                        self.api.stopping.wait(block["seconds"])
                message["content"] = [block for block in message["content"] if block["type"] != "pause"]
                self.send_json(200, message)

    def stream(self, message: JsonObject) -> None:
        self.send_head(200, "text/event-stream; charset=utf-8", None)
        for event in events_of(message):
            if event["type"] == "pause":
                self.hold(event["seconds"])
            else:
                self.send_event(event)

    def hold(self, seconds: float) -> None:
        """Ping until the time is over. Writing is the only way to learn that the client hung up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.api.stopping.wait(SECONDS_BETWEEN_PINGS):
            self.send_event({"type": "ping"})

    def send_event(self, event: JsonObject) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def send_not_found(self, request: Request) -> None:
        self.send_error_object(Failure(404, "not_found_error", f"no such endpoint: {request.method} {request.path}"))

    def send_error_object(self, failure: Failure) -> None:
        self.send_json(failure.status, {"type": "error", "error": {"type": failure.kind, "message": failure.message}})

    def send_json(self, status: int, value: JsonObject) -> None:
        body = json.dumps(value).encode()
        with contextlib.suppress(ConnectionError):
            self.send_head(status, "application/json", len(body))
            self.wfile.write(body)

    def send_head(self, status: int, content_type: str, length: int | None) -> None:
        """Send the headers. A stream has no length: its end is the end of the connection."""
        with self.api.lock:
            request_id = self.api.identifiers.make("req")
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("request-id", request_id)
        if length is not None:
            self.send_header("content-length", str(length))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
