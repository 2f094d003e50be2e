"""How long it takes to read sessions that are made to be slow, for `n` parts and for twice as many, side by side.

    python -m bench.hostile [--parts 2000] [--only NAME]...

For each shape of `bench.hostile_shapes` a home is made in a temporary folder, then updated, opened, shown and exported.
Prints the CPU seconds for 2n and how many times those for n that is: about 2 where the work is linear, 4 where it is a
square. `tests/library/test_work.py` counts the lines of Python that run; this also sees what runs in C.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from backscroll.files.homes import Home
from backscroll.library.chats.chat_reader import CHUNK, ChatReader
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.chats.outline import crossings_of, outline_of
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.export import Assets, Format, exported
from backscroll.render.html.messages import messages_html
from backscroll.render.html.page_data import View
from backscroll.settings import Settings
from backscroll.store.reader import StoredChat
from bench.hostile_shapes import SHAPES, text_shapes

WORTH_TELLING: Final = 0.05
"""Shapes that take less than this for 2n are omitted."""

Seconds = dict[str, float]


class NoLinks:
    """Nothing leads anywhere."""

    def message(self, message: str) -> str:
        """A message of this chat."""
        return f"#m-{message}"

    def agent(self, agent: str) -> None:
        """No page of its own."""

    def picture(self, row: str, number: int) -> str:
        """A picture."""
        return f"/picture/{row}/{number}"

    agent_messages = raw = prompt = whole = file = agent


def measure(files: Mapping[str, bytes]) -> Seconds:
    """The CPU seconds of each step with these files."""
    took: Seconds = {}

    def timed(name: str, run: Callable[[], object]) -> object:
        begun = time.process_time()
        made = run()
        took[name] = time.process_time() - begun
        return made

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, data in files.items():
            path = root / "home" / "projects" / "-work-shop" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        settings = Settings(homes=(root / "home",), library=root / "library", file=root / "settings.toml")
        with local_library(settings, [Home(root / "home")]) as library:
            timed("update", library.update)
        with local_library(settings, [Home(root / "home")]) as library:
            stored = library.chats()[0]
            reader = timed("open", lambda: OpenChats().open(library, stored.overview.id))
            if isinstance(reader, ChatReader):
                read(library, reader, timed)
            forms: tuple[Format, ...] = ("html", "md", "json")
            for form in forms:
                timed(form, partial(export, library, stored, form))
            timed("redact", lambda: share(library, stored, redactor()))
    return took


def read(library: Library, reader: ChatReader, timed: Callable[[str, Callable[[], object]], object]) -> None:
    """Show the end of a chat, and what a page needs besides."""
    branch_messages = reader.branch_messages()
    keys = branch_messages.keys[-CHUNK:]
    timed("read", lambda: reader.messages(library, branch_messages, keys))
    messages = reader.messages(library, branch_messages, keys)
    timed("page", lambda: messages_html(messages, View(links=NoLinks(), clock=time.thread_time)))
    timed("outline", lambda: outline_of(library, reader, branch_messages))
    timed("crossings", lambda: crossings_of(reader, branch_messages, keys))
    timed("last branch", lambda: reader.branch_messages(max(1, len(reader.chat.branches))))
    timed("locate", lambda: reader.locate("nothing of this name"))
    timed("agents", lambda: reader.chat.agents)


def export(library: Library, stored: StoredChat, form: Format) -> int:
    """Write a chat nowhere; its length."""
    return sum(map(len, exported(share(library, stored, None), form, Assets("", ""))))


def main() -> int:
    """Measure all shapes, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=2000)
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    for name, shape in {**SHAPES, **dict(text_shapes())}.items():
        if asked.only and name not in asked.only:
            continue
        small, large = measure(shape(asked.parts)), measure(shape(2 * asked.parts))
        told = [
            f"{step} {large[step]:.2f} s (× {large[step] / max(small[step], 1e-6):.1f})"
            for step in large
            if large[step] > WORTH_TELLING
        ]
        sys.stdout.write(f"{name}: {', '.join(told) or 'nothing to tell'}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
