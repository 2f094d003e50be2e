"""How many questions of an agent are answered inside its budget: ours, plain search, and agentsview over MCP.

    python -m bench.recall_agents [--corpus FOLDER] [--half tune|report|both] [--tokens 2000] [--cache DIR]
                                  [--without-peer] [--seed 1] [--json FILE] [--show-misses 0]

The questions are made by rule from real sessions, and what answers each is known:

back      what a later prompt says around a name that before was worked on in one other chat only. Answered by a passage
          of that chat that has the name. The chat that asks is left out, here and in `error`.
error     an error that two chats met: the text of the later one. Answered by the earlier one with the way out: the file
          that was changed, or the command that was run, until the same call went well.
edit      why a file was changed so: its name and some words of what was put in. Answered by the prompt of the turn that
          did it, or what that turn said.
prompt    a prompt in other words: without its stop words, in another order, some left out, one in a sibling form.
          Answered by what its turn answered.
decision  the rarest words of a sentence of an answer that says “instead”, “because”, “decided” …, as a question.
          Answered by most of the other words of that sentence.

A text counts as answered if a run of twelve words of it is shown, or all of it if it is shorter, by any tool.
All have the same budget, counted in the same way, over everything that an agent would read. Chats are split into two
halves by their id: choose weights with one, and report the other.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.kinds import HUMAN, TURNS, kind_of
from backscroll.conversation.rows import text_of
from backscroll.conversation.signatures import command_kind, signature_of
from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.memory.budget import tokens_of
from backscroll.library.memory.questions import STOP_WORDS
from backscroll.library.memory.recall import recall
from backscroll.records.content import Text, ToolResult, ToolUse
from backscroll.records.decode import value_of as value
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, User
from backscroll.records.record import Record
from backscroll.records.tools import FILE_TOOLS
from backscroll.render.recall import recalled_text
from backscroll.settings import Settings
from bench.chats import place_at, records_of
from bench.decode import find_corpus
from bench.peers import DEFAULT_CACHE, AgentsView, UnableError
from bench.recall import NAME, TOKEN, RecallMaterial, as_typed, copy_home, questions_about
from bench.recall import PLAIN as PLAIN_NAME

BUDGET: Final = 2000
EACH: Final = 4
"""Questions of one kind about one chat, at most: a long chat is not to decide everything."""
RUN: Final = 12
"""So many words one after the other are a text that is shown."""
SHORTEST: Final = 6
"""A text of fewer words answers nothing."""

Answerer = Callable[["AgentQuestion"], list["Shown"]]


class Shown(NamedTuple):
    """A passage that an agent would read: all of its text, and the session it is of."""

    session: str
    text: str


@dataclass(frozen=True)
class AgentQuestion:
    """A question, and how to tell whether it was answered."""

    kind: str
    text: str
    target: str
    """The chat that has the answer."""
    answers: tuple[str, ...] = field(repr=False, default=())
    """Texts; one of them has to be shown."""
    words: tuple[str, ...] = ()
    """Words, most of which must occur in one passage of the chat."""
    share: float = 1.0
    sessions: frozenset[str] = field(repr=False, default=frozenset())
    asked_in: frozenset[str] = field(repr=False, default=frozenset())
    """Sessions to leave out."""

    @property
    def half(self) -> str:
        """Whether it is for choosing or for reporting; all questions about a chat are in one half."""
        return "tune" if sha256(self.target.encode()).digest()[0] % 2 else "report"

    def is_answered_by(self, shown: Sequence[Shown]) -> bool:
        """Whether one passage is enough."""
        own = [one for one in shown if one.session in self.sessions]
        if self.words:
            said = (set(words_of(one.text)) for one in own)
            return any(sum(word in words for word in self.words) >= self.share * len(self.words) for words in said)
        texts = [" ".join(words_of(one.text)) for one in own]
        return any(shows(text, answer) for text in texts for answer in self.answers)


class AgentStep(NamedTuple):
    """A call of a turn, with its result."""

    tool: str
    given: dict[str, Any]
    result: str
    is_error: bool


class AgentTurn(NamedTuple):
    """A prompt, and everything until the next one."""

    chat: str
    when: float
    prompt: str
    answers: list[str]
    steps: list[AgentStep]


class Turns:
    """The turns of every chat, each once, without copies."""

    def __init__(self, home: Path) -> None:
        chats = ChatBuilder()
        found: list[tuple[str, list[Record]]] = []
        for path in sorted((home / "projects").rglob("*.jsonl")):
            records = list(records_of(path))
            chats.add(place_at(path), records)
            found.append((str(path), records))
        self.chats: dict[str, Chat] = {chat.id: chat for chat in chats.chats()}
        owners = {file.place.file: chat.id for chat in self.chats.values() for file in chat.transcripts}
        agents = {file.place.file for chat in self.chats.values() for file in chat.transcripts if file.place.agent_id}
        self.sessions = {
            chat.id: frozenset({chat.id, *(file.place.session_id or "" for file in chat.transcripts)})
            for chat in self.chats.values()
        }
        self.turns: list[AgentTurn] = []
        seen: set[str] = set()
        for file, records in found:
            if file not in agents:
                self.turns += self._turns(owners[file], records, seen)

    def _turns(self, chat: str, records: list[Record], seen: set[str]) -> Iterator[AgentTurn]:
        turn: AgentTurn | None = None
        calls: dict[str, tuple[str, dict[str, Any]]] = {}
        for record in records:
            if not isinstance(record, ChainRecord) or record.is_sidechain or not record.uuid:
                continue
            is_new = record.uuid not in seen
            seen.add(record.uuid)
            if not is_new:
                continue
            if isinstance(record, (User, Attachment)) and (kind := kind_of(record)) in TURNS | HUMAN:
                if turn is not None:
                    yield turn
                when = record.timestamp.timestamp() if record.timestamp else 0.0
                turn = AgentTurn(chat, when, text_of(record) if kind in HUMAN else "", [], [])
            elif turn is not None and isinstance(record, (User, Assistant)) and record.message:
                content = record.message.content
                for block in content if not isinstance(content, str) else ():
                    if isinstance(block, Text) and isinstance(record, Assistant):
                        turn.answers.append(block.text)
                    elif isinstance(block, ToolUse):
                        given = value(block.input)
                        calls[block.id or ""] = (block.name or "", given if isinstance(given, dict) else {})
                    elif isinstance(block, ToolResult):
                        tool, given = calls.get(block.tool_use_id or "", ("", {}))
                        turn.steps.append(AgentStep(tool, given, _plain(block.content), bool(block.is_error)))
        if turn is not None:
            yield turn


def _plain(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))


def words_of(text: str) -> list[str]:
    """The words as they are compared."""
    return WORD.findall(text.casefold())


def shows(shown: str, answer: str) -> bool:
    """Whether another text contains enough of a text to answer it; both as words."""
    words = words_of(answer)
    if len(words) <= RUN:
        return " ".join(words) in shown
    return any(" ".join(words[at : at + RUN]) in shown for at in range(len(words) - RUN + 1))


def all_questions(home: Path, seed: int) -> list[AgentQuestion]:
    """All questions, in an order that only depends on the sessions and the seed."""
    turns = Turns(home)
    rarity = Counter(word for turn in turns.turns for word in {w for text in _said(turn) for w in words_of(text)})
    questions = _back(home, turns, seed)
    questions += _errors(turns)
    questions += _edits(turns, rarity, Random(f"edit {seed}"))
    questions += _prompts(turns, rarity, Random(f"prompt {seed}"))
    questions += _decisions(turns, rarity, Random(f"decision {seed}"))
    return questions


def _said(turn: AgentTurn) -> list[str]:
    return [turn.prompt, *turn.answers]


def _back(home: Path, turns: Turns, seed: int) -> list[AgentQuestion]:
    """As bench/recall.py makes them. The name that has to be shown is the one that the fewest chats have."""
    material = RecallMaterial(home)
    asked = [question for question in questions_about(material, seed) if question.kind == "back" and question.asked_in]
    named_in: dict[str, set[str]] = {name: set() for question in asked for name in _names(question.text)}
    for said in material.said:
        for token in set(TOKEN.findall(said.text)):
            for name in {token.strip("./-"), token.strip("./-").rpartition("/")[2]} & named_in.keys():
                named_in[name].add(said.chat)
    made = []
    for question in asked:
        names = [name for name in _names(question.text) if question.target in named_in[name]]
        if names:
            name = min(names, key=lambda name: (len(named_in[name]), name))
            made.append(
                AgentQuestion(
                    "back",
                    question.text,
                    question.target,
                    words=tuple(words_of(name)),
                    sessions=turns.sessions[question.target],
                    asked_in=turns.sessions[question.asked_in or ""],
                )
            )
    return made


def _names(text: str) -> list[str]:
    tokens = (token.strip("./-") for token in TOKEN.findall(text))
    return [token for token in dict.fromkeys(tokens) if NAME.fullmatch(token) or PLAIN_NAME.fullmatch(token)]


def _errors(turns: Turns) -> list[AgentQuestion]:
    """The later chat asks with its error; the earlier one has the way out."""
    met: dict[str, list[tuple[float, str, str, set[str]]]] = defaultdict(list)
    for turn in turns.turns:
        for at, step in enumerate(turn.steps):
            is_met = step.is_error and not step.result.startswith(DENIED)
            if is_met and len(words_of(signature := signature_of(step.result))) >= 3:
                met[signature].append((turn.when, turn.chat, step.result, _way_out(turn.steps, at)))
    made = []
    for _, errors in sorted(met.items()):
        errors.sort(key=lambda error: error[0])
        solved = [error for error in errors if error[3]]
        if not solved:
            continue
        later = next((error for error in reversed(errors) if any(error[1] != one[1] for one in solved)), None)
        earlier = [one for one in solved if later and one[1] != later[1] and one[0] < later[0]]
        if later is None or not earlier:
            continue
        answers = tuple(dict.fromkeys(way for one in earlier for way in sorted(one[3])))
        sessions = frozenset(session for one in earlier for session in turns.sessions[one[1]])
        text = "\n".join(later[2].splitlines()[:ERROR_LINES])[:ERROR_LENGTH]
        made.append(
            AgentQuestion(
                "error", text, earlier[0][1], answers=answers, sessions=sessions, asked_in=turns.sessions[later[1]]
            )
        )
    return made


def _way_out(steps: list[AgentStep], at: int) -> set[str]:
    """The steps after an error until the same call succeeded: changed files and commands."""
    error = steps[at]
    done: set[str] = set()
    for step in steps[at + 1 : at + 21]:
        if step.tool == error.tool and _about(step) == _about(error) and not step.is_error:
            return {text for text in {*done, _told(step)} if len(words_of(text)) >= 2}
        if step.tool in FILE_TOOLS and not step.is_error:
            done.add(_told(step))
    return set()


def _about(step: AgentStep) -> str:
    command = step.given.get("command")
    return command_kind(command) if isinstance(command, str) else str(step.given.get("file_path") or "")


def _told(step: AgentStep) -> str:
    command = step.given.get("command")
    if isinstance(command, str):
        return command
    return str(step.given.get("new_string") or step.given.get("content") or step.given.get("file_path") or "")


def _edits(turns: Turns, rarity: Mapping[str, int], random: Random) -> list[AgentQuestion]:
    """The name of a file and words that were put into it there, and in no other turn."""
    put: dict[tuple[str, str], set[int]] = defaultdict(set)
    edits: list[tuple[int, str, list[str]]] = []
    for number, turn in enumerate(turns.turns):
        for step in turn.steps:
            new, path = step.given.get("new_string"), step.given.get("file_path")
            if step.tool in FILE_TOOLS and not step.is_error and isinstance(new, str) and isinstance(path, str):
                old = set(words_of(str(step.given.get("old_string") or "")))
                words = [word for word in dict.fromkeys(words_of(new)) if word not in old and PLAIN.fullmatch(word)]
                name = path.rpartition("/")[2]
                edits.append((number, name, [word for word in words if word not in STOP_WORDS]))
                for word in words:
                    put[name, word].add(number)
    found: dict[str, list[AgentQuestion]] = defaultdict(list)
    for number, name, words in edits:
        turn = turns.turns[number]
        own = [word for word in words if put[name, word] == {number}]
        answers = [text for text in _said(turn) if len(words_of(text)) >= SHORTEST]
        if len(own) >= 3 and len(words_of(turn.prompt)) >= SHORTEST:
            chosen = sorted(own, key=lambda word: (rarity[word], word))[1:4]
            text = f"{random.choice(WHY)} {name} changed: {' '.join(chosen)}"
            found[turn.chat].append(
                AgentQuestion("edit", text, turn.chat, answers=tuple(answers), sessions=turns.sessions[turn.chat])
            )
    return _some(found, random)


def _prompts(turns: Turns, rarity: Mapping[str, int], random: Random) -> list[AgentQuestion]:
    """Earlier prompts, as a user remembers them later."""
    found: dict[str, list[AgentQuestion]] = defaultdict(list)
    typed = Counter(turn.prompt for turn in turns.turns)
    for turn in turns.turns:
        words = [word for word in dict.fromkeys(words_of(turn.prompt[:600])) if word not in STOP_WORDS]
        telling = [word for word in words if PLAIN.fullmatch(word) and rarity[word] <= len(turns.turns) / 8]
        answers = [text for text in turn.answers if len(words_of(text)) >= SHORTEST]
        if typed[turn.prompt] > 1 or len(telling) < 4 or not answers:
            continue
        kept = random.sample(telling, max(4, min(7, round(len(telling) * 0.6))))
        at = max(range(len(kept)), key=lambda place: len(kept[place]))
        kept[at] = sibling(kept[at])
        text = f"{random.choice(OPENINGS)} {' '.join(kept)}?"
        found[turn.chat].append(
            AgentQuestion("prompt", text, turn.chat, answers=tuple(answers), sessions=turns.sessions[turn.chat])
        )
    return _some(found, random)


def sibling(word: str) -> str:
    """Another form of a word, by rule."""
    for ending, other in (
        ("ing", "ed"),
        ("ed", "ing"),
        ("ies", "y"),
        ("es", "e"),
        ("s", ""),
        ("y", "ies"),
        ("e", "es"),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending) + other
    return f"{word}s"


def _decisions(turns: Turns, rarity: Mapping[str, int], random: Random) -> list[AgentQuestion]:
    """Sentences that give a reason or a choice, asked for by their rarest words."""
    found: dict[str, list[AgentQuestion]] = defaultdict(list)
    asked: set[str] = set()
    for turn in turns.turns:
        for sentence in (part for text in turn.answers for part in SENTENCE.split(text)):
            words = [word for word in dict.fromkeys(words_of(sentence)) if word not in STOP_WORDS]
            if not DECIDED.search(sentence) or not 9 <= len(words) <= 30 or "```" in sentence:
                continue
            plain = [word for word in words if PLAIN.fullmatch(word) and not DECIDED.fullmatch(word)]
            rare = sorted(plain, key=lambda word: (rarity[word], word))[1:5]
            others = tuple(word for word in words if word not in rare)
            key = " ".join(sorted(rare))
            if len(rare) < 3 or len(others) < 5 or key in asked:
                continue
            asked.add(key)
            random.shuffle(rare)
            text = f"{random.choice(DECISIONS)} {' '.join(rare)}?"
            found[turn.chat].append(
                AgentQuestion("decision", text, turn.chat, words=others, share=0.7, sessions=turns.sessions[turn.chat])
            )
    return _some(found, random)


def _some(questions: Mapping[str, list[AgentQuestion]], random: Random) -> list[AgentQuestion]:
    chosen = []
    for _, about in sorted(questions.items()):
        chosen += random.sample(about, min(EACH, len(about)))
    return chosen


# Those who answer.


def ours(library: Library, tokens: int, took: list[float]) -> Answerer:
    """`recall`, as text; the CPU seconds of each go into `took`."""

    def ask(question: AgentQuestion) -> list[Shown]:
        began = time.process_time()
        answer = recall(library, question.text, max_tokens=tokens, without=question.asked_in)
        took.append(time.process_time() - began)
        text = recalled_text(answer)
        if tokens_of(text) > tokens:
            raise AssertionError(f"{tokens_of(text)} tokens for {question.text}")
        return [Shown(passage.source.chat, passage.text) for passage in answer.passages]

    return ask


def plain_search(library: Library, tokens: int) -> Answerer:
    """The output of `search` for the best chats, up to the budget."""

    def ask(question: AgentQuestion) -> list[Shown]:
        found = library.search(as_typed(question.text)[:1000], limit=30)
        left = tokens
        shown: list[Shown] = []
        for chat in found.chats:
            for passage in chat.passages:
                if passage.hit.session in question.asked_in:
                    continue
                said = passage.snippet.text
                overview = chat.chat.overview
                cost = tokens_of(f"{overview.id[:8]} {(passage.hit.uuid or '')[:8]} {overview.title[:80]}\n{said}\n")
                if cost > left:
                    return shown
                left -= cost
                shown.append(Shown(overview.id, said))
        return shown

    return ask


class Mcp:
    """A conversation with an MCP server over its standard input and output."""

    def __init__(self, command: Sequence[object], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [str(word) for word in command], env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._number = 0
        client = {"name": "backscroll-bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer of a tool; empty if it refuses."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        found: dict[str, Any] = answer.get("result", {}).get("structuredContent") or {}
        return found

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()

    def _ask(self, method: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise UnableError("the MCP server ended")

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


class AgentsViewMcp(AgentsView):
    """agentsview with its MCP server."""

    @contextmanager
    def talk(self) -> Iterator[Mcp]:
        """Talk to it; a server of ours behind it, so that it starts none that stays."""
        with self._server() as server:
            time.sleep(2)  # it is still busy with itself when it first answers
            command = [self._executable, "mcp", "--server", f"http://127.0.0.1:{server.port}"]
            mcp = Mcp(command, self._environment())
            try:
                yield mcp
            finally:
                mcp.close()


@contextmanager
def agentsview(home: Path, folder: Path, cache: Path, tokens: int) -> Iterator[dict[str, Answerer]]:
    """Its MCP server, asked as an agent would that knows its tools: with the telling words, then with fewer of them.

    Once the best chats are also read around what was found, out of the same budget.
    """
    peer = AgentsViewMcp(cache)
    peer.install()
    peer.prepare(home, folder)
    peer.sync()
    with peer.talk() as mcp:

        def sessions(words: str) -> list[dict[str, Any]]:
            return mcp.call("search_sessions", query=words, limit=30, include_active=True).get("results") or []

        def content(words: str, context: int) -> list[dict[str, Any]]:
            found = mcp.call(
                "search_content", pattern=words, mode="terms", limit=50, context=context,
                include_active=True, include_one_shot=True, include_automated=True,
            )  # fmt: skip
            return found.get("matches") or []

        def read(words: str) -> list[dict[str, Any]]:
            rows = []
            for found in sessions(words)[:READ]:
                session, place = found["session_id"], found["match_ordinal"]
                read = mcp.call("get_messages", session_id=session, around=place, before=1, after=3, **MESSAGES)
                rows += [found, *({"session_id": session, **message} for message in read.get("messages") or [])]
            return rows

        yield {
            f"agentsview {peer.version} search_sessions": _retrying(sessions, tokens),
            f"agentsview {peer.version} search_content": _retrying(lambda words: content(words, 0), tokens),
            f"agentsview {peer.version} search_content, context 1": _retrying(lambda words: content(words, 1), tokens),
            f"agentsview {peer.version} search, get_messages": _retrying(read, tokens),
        }


def _retrying(search: Callable[[str], list[dict[str, Any]]], tokens: int) -> Answerer:
    """Its answers are kept until the budget is full; what found nothing costs nothing here."""

    def ask(question: AgentQuestion) -> list[Shown]:
        words = [word for word in dict.fromkeys(words_of(question.text)) if word not in STOP_WORDS]
        longest = sorted(words, key=lambda word: -len(word))
        left = tokens
        shown: list[Shown] = []
        seen: set[str] = set()
        for count in (12, 4, 3, 2, 1):
            chosen = [word for word in words if word in longest[:count]]
            for row in search(" ".join(chosen)):
                session = str(row.get("session_id") or "").rpartition(":")[2]
                text = json.dumps({name: part for name, part in row.items() if name != "web_url"}, ensure_ascii=False)
                if session in question.asked_in or text in seen:
                    continue
                seen.add(text)
                left -= tokens_of(text)
                if left < 0:
                    return shown
                shown.append(Shown(session, _readable(row)))
        return shown

    return ask


def _readable(row: object) -> str:
    """Every text in an answer, without the marks around what was found."""
    if isinstance(row, str):
        return MARK.sub("", row)
    if isinstance(row, (dict, list)):
        return "\n".join(map(_readable, row.values() if isinstance(row, dict) else row))
    return ""


def measure(options: argparse.Namespace, corpus: Path, folder: Path) -> dict[str, dict[AgentQuestion, bool]]:
    """For everyone who answers, whether each question was answered."""
    home = folder / "home"
    copy_home(corpus / "home" if (corpus / "home").is_dir() else corpus, home)
    questions = all_questions(home, options.seed)
    settings = Settings(homes=(home,), library=folder / "library", file=folder / "settings.toml")
    results: dict[str, dict[AgentQuestion, bool]] = defaultdict(dict)
    with ExitStack() as stack:
        library = stack.enter_context(local_library(settings, [Home(home)]))
        library.update()
        took: list[float] = []
        answerers = {OURS: ours(library, options.tokens, took), "plain search": plain_search(library, options.tokens)}
        if not options.without_peer:
            try:
                answerers |= stack.enter_context(agentsview(home, folder / "peer", options.cache, options.tokens))
            except UnableError as error:
                print(f"agentsview is left out: {error}", file=sys.stderr)
        for question in questions:
            for name, ask in answerers.items():
                results[name][question] = question.is_answered_by(ask(question))
        took.sort()
        median, nearly_all = (1000 * took[int(len(took) * share)] for share in (0.5, 0.95))
        print(f"{OURS}: {median:.0f} ms of CPU time in the median, {nearly_all:.0f} ms for 95 %")
    return results


WORD: Final = re.compile(r"[^\W_]+")
PLAIN: Final = re.compile(r"[a-z]{4,20}")
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
DECIDED: Final = re.compile(
    r"\b(?:decided?|instead|because|chose|rather than|so that|the reason|root cause)\b", re.IGNORECASE
)
MARK: Final = re.compile(r"</?mark>")
WHY: Final = ("why was", "when was", "in which session was", "what made us get")
OPENINGS: Final = ("what did we do about", "how did I ask for", "what came of", "what was the answer on", "remind me:")
DECISIONS: Final = ("what did we decide about", "why did we choose", "what was the reason for", "what about")
DENIED: Final = ("The user doesn't want", "<tool_use_error>Sibling tool call", "Sibling tool call")
"""Results of calls that did not fail: the user denied them, or they were not run at all."""
ERROR_LINES: Final = 12
ERROR_LENGTH: Final = 800
READ: Final = 3
"""How many chats are read that were found."""
MESSAGES: Final[dict[str, Any]] = {"max_chars_per_message": 600}
KINDS: Final = ("back", "error", "edit", "prompt", "decision")
TOTAL: Final = "total"
OURS: Final = "backscroll recall"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 2 where there are no sessions to ask about."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall_agents", description="Questions inside a budget.")
    parser.add_argument("--corpus", type=Path, help="the folder of real sessions (default: $BACKSCROLL_CORPUS)")
    parser.add_argument("--half", choices=("tune", "report", "both"), default="both")
    parser.add_argument("--tokens", type=int, default=BUDGET)
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="where the peer is installed")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and every question there")
    parser.add_argument("--show-misses", type=int, default=0, metavar="N", help="print N questions each one missed")
    options = parser.parse_args(arguments)
    corpus = options.corpus or find_corpus()
    if corpus is None or not corpus.is_dir():
        print("no real sessions to ask about: set BACKSCROLL_CORPUS, or name a folder with --corpus", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        results = measure(options, corpus, Path(folder))
    halves = ("tune", "report") if options.half == "both" else (options.half,)
    if options.json:
        asked = [
            {"kind": question.kind, "half": question.half, "target": question.target, "text": question.text}
            | {"answered": {name: found[question] for name, found in results.items()}}
            for question in next(iter(results.values()))
        ]
        options.json.write_text(json.dumps({"seed": options.seed, "questions": asked}, indent=2), encoding="utf-8")
    for half in halves:
        _print(half, results)
    for name, found in results.items() if options.show_misses else ():
        print(f"\nnot answered: {name}")
        missed = [question for question, answered in found.items() if not answered and question.half in halves]
        for question in missed[: options.show_misses]:
            print(f"  {question.kind:9} {question.target[:8]}  {' '.join(question.text.split())[:150]}")
    return 0


def _print(half: str, results: Mapping[str, Mapping[AgentQuestion, bool]]) -> None:
    print(f"\n{f'the half to {half}':46}" + "".join(f"{kind:>10}" for kind in (*KINDS, TOTAL)))
    counts = Counter(question.kind for question in next(iter(results.values())) if question.half == half)
    print(f"{'questions':46}" + "".join(f"{counts[kind]:10}" for kind in KINDS) + f"{counts.total():10}")
    for name, found in results.items():
        shares = []
        for kind in (*KINDS, TOTAL):
            asked = [ok for question, ok in found.items() if question.half == half and kind in (question.kind, TOTAL)]
            shares.append(sum(asked) / max(1, len(asked)))
        print(f"{name:46}" + "".join(f"{share:10.2f}" for share in shares))


if __name__ == "__main__":
    sys.exit(main())
