"""What a session of the sample is made of: who says what, and what Ada does at the keyboard.

The tools really run. What the model says is written here; what the tools answer is not.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from tests.support.claude_client import CLEAR_LINE, END_OF_LINE, ENTER, ESCAPE, UP, Client, Terminal
from tests.support.messages_api import Failure, Pause, Reply, Request, Step, Text, Thinking, ToolUse

OPUS = "claude-opus-4-5-20251101"
OPUS_41 = "claude-opus-4-1-20250805"
SONNET = "claude-sonnet-4-5-20250929"
HAIKU = "claude-haiku-4-5-20251001"

HOME = PurePosixPath("/home/ada")
REFUSED = "The user doesn't want to proceed with this tool use"
SUMMARY_PROMPT = "Your task is to create a detailed summary"

# What the model does --------------------------------------------------------------------------------------------------


def answer(*blocks: Text | Thinking | ToolUse | Pause | str) -> Reply:
    """One response. It comes a moment late, as from a real API: the client has written the prompt by then."""
    return Reply(Pause(0.15), *blocks)


def think(text: str) -> Thinking:
    return Thinking(text, signature="c2FtcGxlIGNvbnZlcnNhdGlvbg==")


def read(path: str, **more: int) -> ToolUse:
    return ToolUse("Read", {"file_path": str(HOME / path), **more})


def edit(path: str, old: str, new: str) -> ToolUse:
    arguments = {"file_path": str(HOME / path), "old_string": old, "new_string": new, "replace_all": False}
    return ToolUse("Edit", arguments)


def write(path: str, content: str) -> ToolUse:
    return ToolUse("Write", {"file_path": str(HOME / path), "content": content})


def bash(command: str, why: str) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": why})


def agent(description: str, prompt: str, kind: str = "general-purpose") -> ToolUse:
    arguments = {"description": description, "prompt": prompt, "subagent_type": kind, "run_in_background": False}
    return ToolUse("Agent|Task", arguments)


def todo(*items: str) -> ToolUse:
    """A todo list: `x done`, `> under way`, `- to do`."""
    states = {"x": "completed", ">": "in_progress", "-": "pending"}
    todos = [
        {"content": text[2:], "status": states[text[0]], "activeForm": text[2:], "id": str(number)}
        for number, text in enumerate(items, 1)
    ]
    return ToolUse("TodoWrite", {"todos": todos})


def task(subject: str, description: str) -> ToolUse:
    return ToolUse("TaskCreate", {"subject": subject, "description": description, "activeForm": subject})


def task_is(number: int, status: str) -> ToolUse:
    return ToolUse("TaskUpdate", {"taskId": str(number), "status": status})


def Overloaded() -> Failure:  # noqa: N802 - stands where a response does
    return Failure(529, "overloaded_error", "Overloaded")


@dataclass(frozen=True)
class Plan:
    """In plan mode: write the plan where the client wants it, then hand it in. Two responses, as one step each."""

    text: str

    def steps(self) -> Iterator[Step]:
        def write_it(request: Request) -> Reply:
            found = re.search(r"/home/ada/\.claude/plans/[\w-]+\.md", json.dumps(request.body))
            assert found, "the client names no file for the plan"
            return answer(ToolUse("Write", {"file_path": found[0], "content": self.text}))

        yield write_it
        yield answer(ToolUse("ExitPlanMode", {"plan": self.text}))


# What Ada does --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """A prompt and the responses to it. `after` is how many seconds Ada took before she sent it."""

    prompt: str
    steps: "Sequence[Step | Plan]"
    after: float = 0
    images: Sequence[str] = ()
    agents: "Sequence[Ask]" = ()
    """What sub-agents are asked, and answer."""
    refuses: bool = False
    """Ada says no to the tool that this ends with."""
    approves: bool = False
    """Ada approves the plan on the way."""

    def script(self) -> Iterator[tuple[str, Sequence[Step]]]:
        yield self.prompt, [step for one in self.steps for step in (one.steps() if isinstance(one, Plan) else [one])]
        for asked in self.agents:
            yield from asked.script()

    def play(self, client: Client, terminal: Terminal) -> None:
        terminal.forget_screen()
        for image in self.images:
            terminal.press(f"\x1b[200~{HOME / image}\x1b[201~")
            terminal.settle()
        if "\n" in self.prompt:
            terminal.press(f"\x1b[200~{self.prompt}\x1b[201~")
            terminal.settle(seconds=0.4)
            terminal.press(ENTER)
        else:
            terminal.enter(self.prompt)
        if self.refuses:
            terminal.wait_for_screen("Do you want to")
            terminal.settle(seconds=0.5)
            before = refusals(client)
            terminal.press(ESCAPE)
            client.wait_for_row(REFUSED, times=before + 1)
        else:
            if self.approves:
                terminal.wait_for_screen("Would you like to proceed?")
                terminal.settle(seconds=0.5)
                terminal.press(ENTER)
            client.wait_for_row(self.last_words)
        terminal.settle()

    @property
    def last_words(self) -> str:
        """What the last response ends with: when it is on disk, the turn is over."""
        last = self.steps[-1]
        if isinstance(last, Failure):
            return "API Error"
        assert isinstance(last, Reply), self.prompt
        text = [block.text for block in last.blocks if isinstance(block, Text)][-1]
        return text.splitlines()[-1]


def refusals(client: Client) -> int:
    return sum(path.read_bytes().count(REFUSED.encode()) for path in client.transcripts())


@dataclass(frozen=True)
class Rewind:
    """Esc Esc, back to the prompt before `prompts` of them, the files too."""

    prompts: int = 1
    after: float = 0

    def script(self) -> Iterator[tuple[str, Sequence[Step]]]:
        yield from ()

    def play(self, client: Client, terminal: Terminal) -> None:
        terminal.forget_screen()
        terminal.press(ESCAPE, ESCAPE)
        terminal.wait_for_screen("Rewind", "Jump to a previous message")
        terminal.press(*[UP] * self.prompts, ENTER)
        terminal.settle()
        if client.version >= (2,):
            terminal.press(ENTER)  # what to restore: the first choice is the code and the conversation
        terminal.settle()
        terminal.press(*[END_OF_LINE, CLEAR_LINE, "\x7f"] * 5, pause=0.1)  # the old prompt is back, on several lines


@dataclass(frozen=True)
class Compact:
    """/compact, and what the model makes of the conversation so far."""

    summary: str
    after: float = 0

    def script(self) -> Iterator[tuple[str, Sequence[Step]]]:
        yield (
            SUMMARY_PROMPT,
            [
                Reply(
                    f"<analysis>\nGoing through the conversation.\n</analysis>\n\n<summary>\n{self.summary}\n</summary>"
                )
            ],
        )

    def play(self, client: Client, terminal: Terminal) -> None:
        terminal.enter("/compact")
        client.wait_for_row(self.summary.splitlines()[-1])
        terminal.settle()


@dataclass(frozen=True)
class Leave:
    """Ada closes the client here and resumes the session later, `after` seconds later."""

    after: float = 0

    def script(self) -> Iterator[tuple[str, Sequence[Step]]]:
        yield from ()


@dataclass(frozen=True)
class Rename:
    title: str
    after: float = 0

    def script(self) -> Iterator[tuple[str, Sequence[Step]]]:
        yield from ()

    def play(self, client: Client, terminal: Terminal) -> None:
        terminal.enter(f"/rename {self.title}")
        client.wait_for_row("custom-title")
        terminal.settle()


Move = Ask | Rewind | Compact | Leave | Rename


@dataclass(frozen=True)
class Session:
    """A session: where and when, with which version and model, and what happens."""

    name: str
    title: str
    """What the model calls it, when the client asks for a title."""
    project: str
    began: str
    """When the first prompt was sent, `YYYY-MM-DDTHH:MM`."""
    model: str
    moves: Sequence[Move]
    version: str = "2.1.197"
    deleted: bool = False
    live: bool = False
    options: Sequence[str] = field(default=())
    ask_before: Sequence[str] = field(default=())
    """Tools that Ada wants to be asked about, as permission rules."""
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """What Ada herself saved before it."""

    def script(self) -> dict[str, Sequence[Step]]:
        return {prompt: steps for move in self.moves for prompt, steps in move.script()}

    def sittings(self) -> Iterator[list[Move]]:
        """The moves between one start of the client and the next."""
        sitting: list[Move] = []
        for move in self.moves:
            if isinstance(move, Leave):
                yield sitting
                sitting = []
            else:
                sitting.append(move)
        yield sitting

    def began_sitting(self, number: int) -> str:
        """About when the client was started for the sitting with this number."""
        until = [move for sitting in list(self.sittings())[:number] for move in sitting]
        seconds = sum(move.after for move in [*until, list(self.sittings())[number][0]])
        return (datetime.fromisoformat(self.began) + timedelta(seconds=seconds)).isoformat(timespec="minutes")

    def pauses(self) -> dict[str, float]:
        """How long Ada took before each prompt, where the story says so."""
        waits: dict[str, float] = {}
        waiting = 0.0
        for move in self.moves:
            waiting += move.after
            if isinstance(move, Ask):
                if waiting:
                    waits[squeezed(move.prompt)] = waiting
                waiting = 0.0
        return waits


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
