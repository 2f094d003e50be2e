"""Buckets of S3, Google Cloud and Azure, through obstore. Keys come from the environment, as these services have it.

obstore tries a request again by itself for a few seconds, with growing waits and jitter. It does not show how long a
service that is busy asks to be left alone (`Retry-After`), so we wait longer and longer, and say so.
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
from backscroll.sync.remotes import PIECE, RemoteObject, is_same

TRIES: Final = 4
FIRST_WAIT: Final = timedelta(milliseconds=200)
LONGEST_WAIT: Final = timedelta(seconds=30)
"""How often and how long obstore tries a request again that failed for whatever reason."""
WAITS: Final = (5.0, 10.0, 20.0, 40.0)
"""Seconds between further tries, while the service says that it is busy."""
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class Bucket:
    """A bucket, or a part of one."""

    def __init__(self, url: str, sleep: Callable[[float], object] = time.sleep) -> None:
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise NotInstalled("obstore") from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        options: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
        waits = {"init_backoff": FIRST_WAIT, "max_backoff": LONGEST_WAIT / 4, "base": 2}
        options["retry_config"] = {"max_retries": TRIES, "retry_timeout": LONGEST_WAIT, "backoff": waits}
        self._url, self._sleep = url, sleep
        try:
            self._store: Any = from_url(url, **options)
        except Exception as error:
            raise BackscrollError(f"cannot use {url}: {error}", "check the address and the keys") from error

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """All objects whose names begin like this."""
        import obstore

        folder = prefix.rpartition("/")[0]  # obstore takes a prefix as whole folders

        def ask() -> list[RemoteObject]:
            batches = obstore.list(self._store, prefix=folder or None)
            return [RemoteObject(found["path"], found["size"]) for batch in batches for found in batch]

        return (one for one in self._ask("list the bucket", ask) if one.name.startswith(prefix))

    def get(self, name: str) -> bytes:
        """An object."""
        import obstore

        return self._ask(f"read {name}", lambda: bytes(obstore.get(self._store, name).bytes()))

    def pieces(self, name: str) -> Iterator[bytes]:
        """An object, piece by piece."""
        import obstore

        doing = f"read {name}"
        stream = iter(self._ask(doing, lambda: obstore.get(self._store, name)).stream(min_chunk_size=PIECE))
        while piece := _asked(doing, lambda: next(stream, None)):
            yield bytes(piece)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, unless one with this name is there already."""
        return self.put_file(name, io.BytesIO(data))

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """The same for the bytes of a file. They are in memory meanwhile: only one request can say "if it is new"."""
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
        """The answer to a request; a service that is busy is waited for."""
        for wait in WAITS:
            try:
                return _asked(doing, request)
            except Busy as busy:
                seconds = wait * random.uniform(1.0, 1.25)  # noqa: S311 - so that several machines do not come back at once
                log.warning("%s: %s; trying again in %.0f s", self._url, busy.message, seconds)
                self._sleep(seconds)
        return _asked(doing, request)


def _asked(doing: str, request: Callable[[], Answer]) -> Answer:
    """The answer to a request; an error that says what the service said, and what to do."""
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
        said = SAID.search(text)
        message = f"cannot {doing}: the service answers {status[0]}{f' ({said[1]})' if said else ''}"
        if status[1] in BUSY:
            raise Busy(message, "nothing is lost: run backscroll sync again later") from error
        raise BackscrollError(message, "check the address of the bucket, the keys, and what they may do") from error


STATUS: Final = re.compile(r"(?<=status code: )([0-9]{3})(?: [A-Z][A-Za-z]+)*")
SAID: Final = re.compile(r"<Message>([^<]{1,200})</Message>")
BUSY: Final = frozenset({"429", "503"})
