"""A home for the journeys: a long chat with everything, with branches, agents, and words far from each other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backscroll.library.prompts.prompt import new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from tests.journeys.visitor import Site
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path
from tests.web.served import serving

TURNS: Final = 130
RARE: Final = (4, 77, 128)
"""The turns whose answers have the word that is looked for."""
LONG: Final = session_uuid("long")
FORKED: Final = session_uuid("forked")
SMALL: Final = session_uuid("small")
MESSAGES: Final = 3 * TURNS

PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQAAAADsdIMmAAAADklEQVQI12P4z8DAAMQAEfEB/1y1YZwAAAAASUVORK5CYII="

OPENING: Final = """
@ version=2.1.72 time=2026-01-05T10:00
"""

TURN: Final = """
p{n} <- {before} user: Question {n} about the shop
a{n} <- p{n} assistant(ma{n}): Looking at part {n}{rare}.
b{n} <- a{n} call(ma{n}) t{n} {call}
r{n} <- b{n} result t{n}: {result}
c{n} <- r{n} assistant(mc{n}): {answer}
"""

ANSWER: Final = """Part {n} is **done**.

```python
def part_{n}():
    return {n}
```

| a | b |
|---|---|
| 1 | 2 |"""


def long_chat() -> dict[str, bytes]:
    """Three messages in each of many turns; the first ones have a tool of every kind that needs a look."""
    drawing = [OPENING]
    before = "-"
    calls = {
        0: (
            "Bash",
            {"command": "make test", "description": "Run the tests"},
            "\n".join(f"line {n}" for n in range(200)),
        ),
        1: ("Task", {"description": "look around", "prompt": "look around", "subagent_type": "Explore"}, "seen"),
        2: ("Edit", {"file_path": "/home/ada/shop/cart.py", "old_string": "a = 1", "new_string": "a = 2"}, "done"),
        3: ("TodoWrite", {"todos": [{"content": "sweep", "status": "pending", "activeForm": "sweeping"}]}, "noted"),
    }
    for n in range(TURNS):
        tool, given, result = calls.get(n, ("Bash", {"command": f"make part-{n}"}, f"part {n} made"))
        text = json.dumps(ANSWER.format(n=n))
        rare = " with a pomegranate in it" if n in RARE else ""
        fields = ' {"toolUseResult": {"agentId": "f01aaaa"}}' if tool == "Task" else ""
        drawing.append(
            TURN.format(
                n=n,
                before=before,
                call=f"{tool} {json.dumps(given)}",
                result=json.dumps(result) + fields,
                answer=text,
                rare=rare,
            )
        )
        before = f"c{n}"
    agent = """
        @ version=2.1.72 agent=f01aaaa time=2026-01-05T10:00:10
        x1 <- - user: look around
        x2 <- x1 call(mx1) tx1 Grep {"pattern": "cart", "path": "src"}
        x3 <- x2 result tx1: src/cart.py
        x4 <- x3 assistant(mx2): The cart is in src.
        """
    folder = session_path("long").removesuffix(".jsonl")
    meta = {"agentType": "Explore", "description": "look around", "toolUseId": "t1", "spawnDepth": 1}
    return {
        **session_file("long", "\n".join(drawing) + "\ncustom-title: The long work on the shop"),
        f"{folder}/subagents/agent-f01aaaa.jsonl": jsonl(draw(agent, session="long")),
        f"{folder}/subagents/agent-f01aaaa.meta.json": json.dumps(meta).encode(),
    }


FORK: Final = """
@ version=2.1.72 time=2026-01-06T10:00
fa <- - user: Draw a logo
fb <- fa assistant(fm1): Here is a circle.
fc <- fb user: Make it blue
fd <- fc assistant(fm2): It is blue now.
@ time=2026-01-06T10:10
fe <- fb user: Make it red
ff <- fe assistant(fm3): It is red now.
fg <- ff user: [{"type": "text", "text": "like this"}, \
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "$PICTURE"}}]
fh <- fg thinking(fm4): a picture
fi <- fh assistant(fm4): I see.
"""


def house_files() -> dict[str, bytes]:
    """All of it."""
    small = """
        @ version=2.1.72 time=2026-01-07T10:00 cwd=/home/ada/blog
        sa <- - user: write a post about pomegranates
        sb <- sa assistant(sm1): A post about fruit.
        """
    return {
        **long_chat(),
        **session_file("forked", FORK.replace("$PICTURE", PICTURE)),
        **session_file("small", small),
    }


@dataclass(frozen=True)
class House:
    """A library that is served."""

    shelf: Shelf
    site: str

    @property
    def rooms(self) -> tuple[str, ...]:
        """An address of every kind of page."""
        return (
            "/",
            "/chats",
            "/projects",
            "/search",
            "/search?q=pomegranate",
            f"/chats/{LONG}",
            f"/chats/{FORKED}?branch=2",
            f"/chats/{FORKED}/compare?left=1&right=2",
            f"/chats/{FORKED}/resume?branch=2",
            f"/chats/{FORKED}/share",
            f"/chats/{LONG}/agents/f01aaaa",
            "/prompts",
            "/prompts/review",
            f"/chats/{SMALL}/messages/sa/prompt",
            "/spend?period=all",
            f"/chats/{LONG}/context",
            "/stats",
            "/stats?since=all",
            "/stats/usage",
            "/stats/tools",
            "/stats/chats",
            "/stats/folders",
            "/stats/topics",
            "/files",
            "/files?path=/home/ada/shop/cart.py",
            "/settings?check=1",
        )


@contextmanager
def open_house(root: Path) -> Iterator[House]:
    """The house, read and served; nothing is followed."""
    shelf = Shelf(root).write(house_files()).rest()
    shelf.update()
    PromptFile(shelf.folder).add(new_prompt("review", "Review {{branch}}, please.", tags=["git"], description="A look"))
    with serving(shelf, require_key="always") as served:
        yield House(shelf, Site.of(served))
