"""The base class of all records."""

from datetime import datetime
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Raw, Struct, field

Id = Annotated[str, Meta(max_length=200)]
Label = Annotated[str, Meta(max_length=100)]
"""Names that are keys of an index. Claude Code writes at most a few dozen characters; a longer one is no name that we
know, and is left out like any other value of the wrong type: databases limit the size of a key."""
Branch = Annotated[str, Meta(max_length=255)]
ModelName = Annotated[str, Meta(pattern=r"^(?:[ -~]{0,300}|[^\x00]{0,100})\Z")]
"""The ARN of a profile at a cloud provider can have more than 100 characters; it is plain ASCII."""
Timestamp = Annotated[datetime, Meta(tz=True)]
"""A moment with its time zone. Rows repeat it after a resume: not an order."""

ABSENT: Final = Raw(b"null")


class Record(Struct, frozen=True, gc=False, kw_only=True, tag_field="type", rename="camel"):
    """One JSON object of a session file. `raw` is the bytes it was decoded from, and any bytes before them."""

    raw: bytes = field(default=b"", name="~raw")
    session_id: Id | None = None
    timestamp: Timestamp | None = None
    also: ClassVar[frozenset[str]] = frozenset()
