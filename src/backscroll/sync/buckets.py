"""Buckets of S3, Google Cloud and Azure, through obstore. Keys come from the environment, as these services have it.

obstore retries a request by itself for a few seconds, with growing waits and jitter. It does not expose how long a busy
service wants to be left alone (`Retry-After`), so we wait longer and longer, and log it.
"""

import contextlib
import io
import logging
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import IO, Any, Final, TypeVar

from backscroll.errors import BackscrollError, Busy, NothingFound, NotInstalled
from backscroll.sync.folder_objects import too_large
from backscroll.sync.remotes import PIECE, RemoteObject, is_same

TRIES: Final = 4
FIRST_WAIT: Final = timedelta(milliseconds=200)
LONGEST_WAIT: Final = timedelta(seconds=30)
"""Number and duration of the retries that obstore makes, whatever the reason of the failure."""
WAITS: Final = (5.0, 10.0, 20.0, 40.0)
"""Seconds between our own retries, while the service says that it is busy."""
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class Bucket:
    """A bucket, or a part of one."""

    def __init__(self, url: str, sleep: Callable[[float], object] = time.sleep, *, largest: int | None = None) -> None:
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise NotInstalled("obstore") from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        options: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
        waits = {"init_backoff": FIRST_WAIT, "max_backoff": LONGEST_WAIT / 4, "base": 2}
        options["retry_config"] = {"max_retries": TRIES, "retry_timeout": LONGEST_WAIT, "backoff": waits}
        self._url, self._sleep, self._largest = url, sleep, largest
        try:
            self._store: Any = from_url(url, **options)
        except Exception as error:
            raise BackscrollError(f"cannot use {url}: {error}", "check the address and the keys") from error

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Yield all objects whose names have this prefix."""
        import obstore

        folder = prefix.rpartition("/")[0]  # obstore takes a prefix as whole folders

        def ask() -> list[RemoteObject]:
            batches = obstore.list(self._store, prefix=folder or None)
            return [
                RemoteObject(item["path"], item["size"], str(item.get("e_tag") or ""))
                for batch in batches
                for item in batch
            ]

        return (listed for listed in self._ask("list the bucket", ask) if listed.name.startswith(prefix))

    def get(self, name: str) -> bytes:
        """Return the bytes of an object."""
        import obstore

        def ask() -> bytes:
            answer = obstore.get(self._store, name)
            self._check_size(name, answer.meta["size"])
            return bytes(answer.bytes())

        return self._ask(f"read {name}", ask)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of an object, piece by piece."""
        import obstore

        doing = f"read {name}"
        answer = self._ask(doing, lambda: obstore.get(self._store, name))
        self._check_size(name, answer.meta["size"])
        stream, size = iter(answer.stream(min_chunk_size=PIECE)), 0
        while piece := _asked(doing, lambda: next(stream, None)):
            size += len(piece)
            self._check_size(name, size)  # the size in the answer may be wrong
            yield bytes(piece)

    def _check_size(self, name: str, size: int) -> None:
        if self._largest is not None and size > self._largest:
            raise too_large(name, size, self._largest)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, unless one with this name is there already."""
        return self.put_file(name, io.BytesIO(data))

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store the bytes of a file as a new object, from memory: only a single request can be "create only"."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def ask() -> bool:
            file.seek(0)
            try:
                obstore.put(self._store, name, file, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # Perhaps our own: a request whose answer was lost is sent again.
                return is_same(self.pieces(name), file)
            return True

        return self._ask(f"write {name}", ask)

    def delete(self, name: str) -> None:
        """Remove an object."""
        import obstore

        with contextlib.suppress(NothingFound):
            self._ask(f"remove {name}", lambda: obstore.delete(self._store, name))

    def _ask(self, doing: str, request: Callable[[], Answer]) -> Answer:
        """Return the answer to a request; wait and retry while the service is busy."""
        for wait in WAITS:
            try:
                return _asked(doing, request)
            except Busy as busy:
                seconds = wait * random.uniform(1.0, 1.25)  # noqa: S311 - so that several machines do not retry at once
                log.warning("%s: %s; trying again in %.0f s", self._url, busy.message, seconds)
                self._sleep(seconds)
        return _asked(doing, request)


def _asked(doing: str, request: Callable[[], Answer]) -> Answer:
    """Return the answer to a request; turn a failure into an error with the message of the service and a hint."""
    from obstore.exceptions import BaseError, NotFoundError

    try:
        return request()
    except (FileNotFoundError, NotFoundError) as error:
        raise NothingFound(f"cannot {doing}: the remote does not have it", "run backscroll sync verify") from error
    except BaseError as error:
        text = str(error)
        status = STATUS.search(text)
        if status is None:
            first = text.strip().splitlines()[0][:300]
            raise BackscrollError(f"cannot {doing}: {first}", "check the network, and try again") from error
        service_message = SAID.search(text)
        message = (
            f"cannot {doing}: the service answers {status[0]}{f' ({service_message[1]})' if service_message else ''}"
        )
        if status[1] in BUSY:
            raise Busy(message, "nothing is lost: run backscroll sync again later") from error
        raise BackscrollError(message, "check the address of the bucket, the keys, and what they may do") from error


STATUS: Final = re.compile(r"(?<=status code: )([0-9]{3})(?: [A-Z][A-Za-z]+)*")
SAID: Final = re.compile(r"<Message>([^<]{1,200})</Message>")
BUSY: Final = frozenset({"429", "503"})
