"""The base class of all records."""

from datetime import MAXYEAR, MINYEAR, datetime
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Raw, Struct, field

Id = Annotated[str, Meta(max_length=200)]
Label = Annotated[str, Meta(max_length=100)]
"""Names that are keys of an index. Claude Code writes at most a few dozen characters; a longer name is unknown to us,
and left out like any other value of the wrong type: databases limit the size of a key."""
Branch = Annotated[str, Meta(max_length=255)]
ModelName = Annotated[str, Meta(pattern=r"^(?:[ -~]{0,300}|[^\x00]{0,100})\Z")]
"""The ARN of a profile at a cloud provider can have more than 100 characters; it is plain ASCII."""
Timestamp = Annotated[datetime, Meta(tz=True)]
"""A moment with its time zone. Rows repeat it after a resume: not an order."""

ABSENT: Final = Raw(b"null")


def usual_time(moment: datetime | None) -> datetime | None:
    """Return the moment if every time zone can show it; None in the first and last year of the calendar."""
    return moment if moment is None or MINYEAR < moment.year < MAXYEAR else None


class Record(Struct, frozen=True, gc=False, kw_only=True, tag_field="type", rename="camel"):
    """A JSON object of a session file. `raw` has the bytes it was decoded from, and any bytes before them."""

    raw: bytes = field(default=b"", name="~raw")
    session_id: Id | None = None
    timestamp: Timestamp | None = None
    also: ClassVar[frozenset[str]] = frozenset()
