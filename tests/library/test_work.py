"""However a session is shaped, the work of reading it grows as its size does: counted for n, 2n and 4n parts."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from bench.hostile_shapes import SHAPES

from backscroll.library.chats.chat_reader import CHUNK
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.chats.outline import crossings_of, outline_of
from backscroll.library.library import Library
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.export import Assets, Format, exported
from backscroll.render.html.messages import messages_html
from backscroll.render.html.page_data import View
from backscroll.store.reader import StoredChat
from tests.library.support import Shelf
from tests.support.homes import SHOP
from tests.support.samples import TRY_ALL
from tests.support.work import growth, is_linear, steps

Files = Mapping[str, bytes]
Counts = dict[str, int]
SIZE = 40


class UnlinkedProject:
    """Nothing leads anywhere."""

    def message(self, message: str) -> str:
        return f"#m-{message}"

    def picture(self, row: str, number: int) -> str:
        return f"/picture/{row}/{number}"

    def agent(self, agent: str) -> None: ...

    agent_messages = raw = prompt = whole = file = agent


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES][:: 1 if TRY_ALL else 4])
def test_the_work_of_reading_a_session_grows_as_the_session(shape: str, tmp_path: Path) -> None:
    count(SHAPES[shape](4 * SIZE), tmp_path / "first", by=do)  # what is made once in a process is not counted
    counted = [count(SHAPES[shape](size), tmp_path / str(size)) for size in (SIZE, 2 * SIZE, 4 * SIZE)]
    triples = {stage: (counted[0][stage], counted[1][stage], counted[2][stage]) for stage in counted[0]}
    slow = {
        stage: f"{growth(counts):.1f} times, {counts}" for stage, counts in triples.items() if not is_linear(counts)
    }
    assert not slow


def do(run: Callable[[], object]) -> int:
    """Run it without counting, which takes many times as long."""
    run()
    return 0


def count(files: Files, root: Path, by: Callable[[Callable[[], object]], int] = steps) -> Counts:
    """The steps of everything that is done with a chat."""
    shelf = Shelf(root).write({f"{SHOP}/{name}": data for name, data in files.items()})
    counts: Counts = {}

    def counted(stage: str, run: Callable[[], object]) -> None:
        counts[stage] = by(run)

    with shelf.open() as library:
        counted("update", library.update)
    with shelf.open() as library:
        read(library, counted)
        share_it(library, counted)
        append(shelf, library, next(iter(files)), counted)
    return counts


def read(library: Library, counted: Callable[[str, Callable[[], object]], None]) -> None:
    """Open a chat as the viewer does, and go through it."""
    open_chats, name = OpenChats(), library.chats()[0].overview.id
    counted("open", lambda: open_chats.open(library, name))
    reader = open_chats.open(library, name)
    branch_messages = reader.branch_messages()
    counted("keys", lambda: branch_messages.keys)
    page = branch_messages.keys[-CHUNK:]
    counted("read", lambda: reader.messages(library, branch_messages, page))
    messages = reader.messages(library, branch_messages, page)
    counted("page", lambda: messages_html(messages, View(links=UnlinkedProject())))
    counted("outline", lambda: outline_of(library, reader, branch_messages))
    counted("crossings", lambda: crossings_of(reader, branch_messages, branch_messages.keys))
    counted("last branch", lambda: reader.branch_messages(max(1, len(reader.chat.branches))))
    counted("locate", lambda: reader.locate("nothing of this name"))
    counted("agents", lambda: reader.chat.agents)


def share_it(library: Library, counted: Callable[[str, Callable[[], object]], None]) -> None:
    """Export a chat in every form."""
    stored = library.chats()[0]
    forms: tuple[Format, ...] = ("html", "md", "json")
    for form in forms:
        counted(form, partial(export, library, stored, form))
    counted("redacted", lambda: share(library, stored, redactor()))


def export(library: Library, stored: StoredChat, form: Format) -> int:
    return sum(map(len, exported(share(library, stored, None), form, Assets("", ""))))


def append(shelf: Shelf, library: Library, file: str, counted: Callable[[str, Callable[[], object]], None]) -> None:
    """Let an open chat take one more row."""
    open_chats, name = OpenChats(), library.chats()[0].overview.id
    reader = open_chats.open(library, name)
    cursor, path = reader.cursor, shelf.home / SHOP / file
    with path.open("ab") as session:
        session.write(b'{"type":"user","uuid":"new","parentUuid":null,"message":{"role":"user","content":"more"}}\n')
    counted("take", lambda: open_chats.take(library, [shelf.source(f"{SHOP}/{file}")]))
    counted("changes", lambda: reader.changes(library, 1, cursor, is_live=True))
