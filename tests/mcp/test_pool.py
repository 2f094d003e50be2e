"""The server's pool: the library is updated alongside the calls, and stopping the server loses nothing."""

import dataclasses
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import BackscrollError
from backscroll.library.indexing.update import Updated
from backscroll.library.library import Library
from backscroll.library.memory.asking_session import UNKNOWN_SESSION
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import Frame
from tests.library.support import Shelf
from tests.mcp.support import story
from tests.support.drawings import session_uuid
from tests.support.homes import EVERYTHING


def test_an_update_that_is_ended_is_gone_on_with(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    for _ in range(5):
        pool = RefreshedPool(shelf.settings, shelf.open().homes)
        pool.start()
        pool.close()
    shelf.update()
    shelf.check_rebuilt(["parser", "shop"])


def test_each_call_has_a_library_to_itself(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    with pool.library() as one, pool.library() as other:
        assert one is not other
    threads = [threading.Thread(target=lambda: ask(pool)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()


def ask(pool: RefreshedPool) -> None:
    for _ in range(5):
        with pool.library() as library:
            assert library.search("zebra").total_chats == 3


def test_a_chat_that_grew_is_read_again(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    with pool.library() as library:
        stored = library.find(session_uuid("parser"))
        opened = pool.browse(library, stored)
        assert pool.browse(library, stored) is opened
    add_prompt(shelf, "more")
    shelf.update()
    with pool.library() as library:
        again = pool.browse(library, library.find(session_uuid("parser")))
        assert again is not opened
        assert again.branch_messages().keys[-1] == "pa-9"
    pool.close()


def add_prompt(shelf: Shelf, text: str) -> None:
    row = {"type": "user", "uuid": "pa-9", "parentUuid": "pa-8", "sessionId": session_uuid("parser")}
    message = {"message": {"role": "user", "content": text}, "timestamp": "2026-01-05T12:00:00Z"}
    shelf.append("parser", json.dumps(row | message).encode() + b"\n")


def test_a_library_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    """Its folder would have to be in a folder that is a file: not even root can create that."""
    shelf = Shelf(tmp_path).write(EVERYTHING)
    (tmp_path / "file").touch()
    settings = dataclasses.replace(shelf.settings, library=tmp_path / "file" / "library")
    pool = RefreshedPool(settings, shelf.open().homes)
    try:
        check_trouble(pool)
    finally:
        pool.close()


def test_a_file_in_place_of_the_library_is_reported(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.folder.write_text("in the way")
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    try:
        check_trouble(pool)
    finally:
        pool.close()


def check_trouble(pool: RefreshedPool) -> None:
    pool.start()
    with pool.library() as library, pytest.raises(BackscrollError, match="cannot be built"):
        while True:
            try:
                CallContext(pool, library, UNKNOWN_SESSION, Frame()).must_exist()
            except BackscrollError as error:
                if "first time" not in error.message:
                    raise


def test_no_error_ends_the_updates_and_answers_say_that_they_may_be_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = story(tmp_path)
    refresh, left = Library.refresh, [RuntimeError("the engine gave up"), MemoryError("no more")]

    def failing(library: Library, **options: Any) -> Updated | None:  # noqa: ANN401
        if left:
            raise left[0]
        return refresh(library, **options)

    monkeypatch.setattr(Library, "refresh", failing)
    monkeypatch.setattr("backscroll.mcp.pool.PAUSE", 0.0)
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    pool.start()
    try:
        for error in left.copy():
            while str(error) not in pool.trouble:
                with pool.library() as library:
                    library.search("zebra")
            with pool.library() as library:
                told = CallContext(pool, library, UNKNOWN_SESSION, Frame()).pending()
            assert str(error) in told
            assert str(error) in caplog.text
            left.remove(error)
        add_prompt(shelf, "an okapi")
        found = 0
        while not found:
            with pool.library() as library:
                found = library.search("okapi").total_chats
        assert pool.trouble == ""
    finally:
        pool.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_ctrl_c_and_the_end_of_its_input_both_end_it(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    command = [sys.executable, "-m", "backscroll", "--home", str(shelf.home), "--library", str(shelf.folder), "mcp"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for by_signal in (True, False):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "backscroll"
            if by_signal:
                process.send_signal(signal.SIGINT)
            else:
                process.stdin.close()
            assert process.wait(60) == (-signal.SIGINT if by_signal else 0)
    shelf.check_rebuilt(["zebra"])
