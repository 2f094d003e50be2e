"""Cursors: the beginning of the next page of results, as a short text that a program hands back."""

import binascii
import struct
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from backscroll.errors import UsageError
from backscroll.query.tree import Query
from backscroll.store.reader import PagePosition

HEAD: Final = struct.Struct(">BIQ")
"""Version, query, newest passage; then a digest of four bytes for each chat of earlier pages."""
VERSION: Final = 1


def cursor_of(position: PagePosition, query: Query, sort: str) -> str:
    """Return the text for a position in the results of a query."""
    digests = sorted(position.seen)
    data = HEAD.pack(VERSION, _query_checksum(query, sort), position.newest) + struct.pack(
        f">{len(digests)}I", *digests
    )
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def position_of(cursor: str, query: Query, sort: str) -> PagePosition:
    """Return the position in a cursor; UsageError if it is of another search."""
    try:
        data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        version, checksum, newest = HEAD.unpack_from(data)
        digests = struct.unpack(f">{(len(data) - HEAD.size) // 4}I", data[HEAD.size :])
    except (ValueError, binascii.Error, struct.error):
        raise UsageError("this is not a cursor", "leave it out to get the first page") from None
    if version != VERSION or checksum != _query_checksum(query, sort):
        raise UsageError("this cursor is of another search", "leave it out to get the first page")
    return PagePosition(newest, frozenset(digests))


def _query_checksum(query: Query, sort: str) -> int:
    return zlib.crc32(f"{sort} {query.text}".encode("utf-8", "surrogatepass"))
