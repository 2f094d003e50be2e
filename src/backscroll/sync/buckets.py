"""Buckets of S3, Google Cloud and Azure, through obstore. Keys come from the environment, as these services have it."""

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from backscroll.errors import BackscrollError, NothingFound
from backscroll.sync.remotes import RemoteObject

TRIES: Final = 8
FIRST_WAIT: Final = timedelta(milliseconds=200)
LONGEST_WAIT: Final = timedelta(minutes=2)
"""How long a request is tried again while the service is busy or out of reach."""


class Bucket:
    """A bucket, or a part of one."""

    def __init__(self, url: str) -> None:
        try:
            from obstore.store import from_url
        except ImportError as error:
            hint = "install it with: pip install 'backscroll[sync]'"
            raise BackscrollError("buckets need the obstore package", hint) from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        options: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
        # With jitter, each wait up to twice as long as the last. obstore shows no `Retry-After`.
        waits = {"init_backoff": FIRST_WAIT, "max_backoff": LONGEST_WAIT / 4, "base": 2}
        options["retry_config"] = {"max_retries": TRIES, "retry_timeout": LONGEST_WAIT, "backoff": waits}
        try:
            self._store: Any = from_url(url, **options)
        except Exception as error:
            raise BackscrollError(f"cannot use {url}: {error}", "check the address and the keys") from error

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """All objects whose names begin like this."""
        import obstore

        folder = prefix.rpartition("/")[0]  # obstore takes a prefix as whole folders
        with _plain_errors("list the bucket"):
            for batch in obstore.list(self._store, prefix=folder or None):
                for found in batch:
                    if found["path"].startswith(prefix):
                        yield RemoteObject(found["path"], found["size"])

    def get(self, name: str) -> bytes:
        """An object."""
        import obstore

        with _plain_errors(f"read {name}"):
            return bytes(obstore.get(self._store, name).bytes())

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, unless one with this name is there already."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with _plain_errors(f"write {name}"):
            try:
                obstore.put(self._store, name, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # Perhaps our own: a request whose answer was lost is sent again.
                return bytes(obstore.get(self._store, name).bytes()) == data
        return True

    def delete(self, name: str) -> None:
        """Remove an object."""
        import obstore

        with contextlib.suppress(NothingFound), _plain_errors(f"remove {name}"):
            obstore.delete(self._store, name)


@contextlib.contextmanager
def _plain_errors(doing: str) -> Iterator[None]:
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (FileNotFoundError, NotFoundError) as error:
        raise NothingFound(f"cannot {doing}: the remote does not have it", "run backscroll sync verify") from error
    except BaseError as error:
        first = str(error).strip().splitlines()[0][:300]
        raise BackscrollError(f"cannot {doing}: {first}", "check the network and the keys, and try again") from error
