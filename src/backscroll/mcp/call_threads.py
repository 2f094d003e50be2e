"""Run calls in threads that the end of the process does not wait for.

A statement may take 10 seconds. When the client closes our input, no one waits for the answer: the threads of anyio
would hold up the end of the process until they are done.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import anyio
import anyio.from_thread
from anyio.lowlevel import current_token

Made = TypeVar("Made")

AT_ONCE: Final = 40


class CallThreads:
    """Runs calls, a few at a time."""

    def __init__(self) -> None:
        self._free = anyio.Semaphore(AT_ONCE)

    async def run(self, call: Callable[[], Made]) -> Made:
        """Return what a call returns, or raise its error. If no one waits for it any more, it finishes unnoticed."""
        token, done = current_token(), anyio.Event()
        made: list[Made] = []
        failed: list[BaseException] = []

        def run_call() -> None:
            try:
                made.append(call())
            except BaseException as error:  # it is raised where the call is awaited
                failed.append(error)
            with suppress(RuntimeError):  # the loop has ended
                anyio.from_thread.run_sync(done.set, token=token)

        async with self._free:
            threading.Thread(target=run_call, name="call", daemon=True).start()
            await done.wait()
        if failed:
            raise failed[0]
        return made[0]
