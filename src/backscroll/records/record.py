"""The base class of all records."""

from datetime import datetime
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Raw, Struct, field

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A moment with its time zone. Rows repeat it after a resume: not an order."""

ABSENT: Final = Raw(b"null")


class Record(Struct, frozen=True, gc=False, kw_only=True, tag_field="type", rename="camel"):
    """One JSON object of a session file. `raw` is the bytes it was decoded from, and any bytes before them."""

    raw: bytes = field(default=b"", name="~raw")
    session_id: str | None = None
    timestamp: Timestamp | None = None
    also: ClassVar[frozenset[str]] = frozenset()
