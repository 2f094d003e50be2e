"""Search results as lines for a terminal and as plain data for programs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from backscroll.conversation.overview import Overview
from backscroll.conversation.rows import LONGEST_TEXT
from backscroll.render.cells import cells, cut, wrap
from backscroll.render.terminal import clean_line, minute, moment, plural, zone_of


class Excerpt(Protocol):
    """A piece of text with its matches."""

    @property
    def text(self) -> str:
        """Text of the piece."""

    @property
    def highlights(self) -> tuple[tuple[int, int], ...]:
        """Start and end of each match."""


class StyledLine(NamedTuple):
    """A line of pieces, each with its style."""

    pieces: tuple[tuple[str, str], ...]


def found_as_json(
    found: Any,  # noqa: ANN401 - what a search gives
    marks: Sequence[Any],
    context_of: Callable[[Any], str] | None = None,
) -> dict[str, Any]:
    """Return all results; `marks` are the user's marks of each chat, `context_of` returns the lines around a hit."""
    return {
        "hits": [
            passage_as_json(
                item.chat.overview, passage.hit, passage.snippet, context_of(passage.hit) if context_of else None
            )
            for item in found.chats
            for passage in item.passages
        ],
        "chats": [
            {
                "id": item.chat.overview.id,
                "title": item.chat.overview.title,
                "project": item.chat.overview.project,
                "archived": item.chat.archived,
                "pinned": mark.pinned,
                "machines": list(item.chat.machines),
                "tags": [*item.chat.overview.tags, *mark.tags],
                "found": item.found,
            }
            for item, mark in zip(found.chats, marks, strict=True)
        ],
        "total": found.total,
        "total_chats": found.total_chats,
        "notes": found.notes,
        "corrections": [{"typed": item.typed, "also": list(item.also)} for item in found.corrections],
        "cursor": found.cursor(),
        "pending": found.pending,
        "complete": found.is_whole,
    }


def passage_as_json(chat: Overview, hit: Any, excerpt: Excerpt, context: str | None) -> dict[str, Any]:  # noqa: ANN401
    """Return one matching passage."""
    return {
        "chat": chat.id,
        "title": chat.title,
        "project": chat.project,
        "session": hit.session,
        "agent": hit.agent,
        "machine": hit.machine or None,
        "message": hit.uuid,
        "message_id": hit.message,
        "block": hit.number,
        "kind": str(hit.role),
        "tool": hit.tool,
        "error": hit.is_error,
        "abandoned": hit.is_abandoned,
        "time": moment(when) if (when := moment_of(hit.time)) else None,
        "snippet": excerpt.text,
        "highlights": [list(span) for span in excerpt.highlights],
        "score": round(hit.score, 4),
        **({"context": context} if context is not None else {}),
    }


def heading_of(
    chat: Overview, found: int, *, archived: bool, now: datetime, machines: Sequence[str] = (), width: int | None = None
) -> StyledLine:
    """Return the line that a chat begins with; a long title is cut where the line has a `width`."""
    name = clean_line(chat.project or "-").replace("\\", "/").rstrip("/").split("/")[-1] or "/"
    when = ago(chat.last_active, now) if chat.last_active else "-"
    marks = "  archived" * archived + "".join(f"  on {clean_line(machine)}" for machine in machines)
    matches = plural(found, "match") if found == 1 else f"{found:,} matches"
    short, title = clean_line(chat.id[:8]), _title(chat.title)
    about = f"{when} · {matches}{marks}"
    if width is not None:
        room = width - cells(f"{short}    {about}")
        name = cut(name, max(8, room // 3))
        title = cut(title, max(1, room - cells(f"{name} · ")))
    return StyledLine((("id", short), ("plain", "  "), ("title", title), ("dim", f"  {name} · {about}")))


def _title(title: str) -> str:
    """Return the title on one line. A long title is the beginning of a prompt: it ends with a whole word."""
    line = clean_line(title)
    return line if len(title) < LONGEST_TEXT else f"{line.rpartition(' ')[0] or line}…"


def passage_line(
    hit: Any,  # noqa: ANN401 - a hit of a store
    excerpt: Excerpt,
    *,
    names_message: bool = False,
    zone: bool = False,
    machines: Sequence[str] = (),
) -> StyledLine:
    """Return the line of a passage; `names_message` adds the start of its message's id and the local time.

    `zone` adds the name of the time zone. Where the chat is from several `machines`, the line says if the passage is
    from another one than this.
    """
    label = f"{hit.role} {hit.tool}" if hit.tool else str(hit.role)
    if hit.agent:
        label += " (agent)"
    if hit.is_abandoned:
        label += " (rewound)"
    if hit.is_elsewhere and len(machines) > 1:
        label += f" (on {hit.machine})"
    named: list[tuple[str, str]] = []
    if names_message and hit.uuid:
        when = moment_of(hit.time)
        time = f"{minute(when)} {zone_of([when])}" if zone else minute(when)
        named = [("id", clean_line(hit.uuid[:8])), ("dim", f" {time} " if when else " ")]
    return StyledLine((*named, ("label", f"{clean_line(label)}: "), *highlighted(excerpt)))


def highlighted(excerpt: Excerpt) -> Iterator[tuple[str, str]]:
    """Yield the pieces of an excerpt, the matches with their own style."""
    at = 0
    for start, end in excerpt.highlights:
        if start > at:
            yield "plain", _clean(excerpt.text[at:start])
        if end > max(at, start):
            yield "match", _clean(excerpt.text[max(at, start) : end])
        at = max(at, end)
    if at < len(excerpt.text):
        yield "plain", _clean(excerpt.text[at:])


def moment_of(microseconds: int | None) -> datetime | None:
    """Convert a time of the store."""
    return EPOCH + timedelta(microseconds=microseconds) if microseconds is not None else None


def ago(when: datetime, now: datetime) -> str:
    """Return how long ago something was, as people say it; the day if that is long."""
    seconds = (now - when).total_seconds()
    if seconds < 0 or seconds > 60 * 86_400:
        return f"{when.astimezone():%Y-%m-%d}"
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def wrapped(line: StyledLine, width: int, indent: str, further: str) -> Iterator[StyledLine]:
    """Yield the line as lines of this width, broken between words; `indent` begins the first, `further` the others."""
    text = "".join(piece for _, piece in line.pieces)
    for number, (start, end) in enumerate(wrap(text, width - cells(further))):
        pieces = [("plain", indent if number == 0 else further)]
        at = 0
        for kind, piece in line.pieces:
            if part := piece[max(0, start - at) : max(0, end - at)]:
                pieces.append((kind, part))
            at += len(piece)
        pieces[-1] = (pieces[-1][0], pieces[-1][1].rstrip())
        yield StyledLine(tuple(pieces))


def plain(lines: Iterable[StyledLine]) -> Iterator[str]:
    """Yield the lines without styles."""
    for line in lines:
        yield "".join(text for _, text in line.pieces)


def _clean(text: str) -> str:
    """Clean a piece of a line, keeping the spaces at its ends."""
    cleaned = clean_line(text)
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and cleaned else ""
    return f"{before}{cleaned}{after}"


EPOCH = datetime.fromtimestamp(0, UTC)
