"""Output of `doctor` and `status` about everything that captures by itself."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.cli.output import heading, warning, write
from backscroll.render.terminal import clean_line, minute, plural, zone_of

if TYPE_CHECKING:
    from backscroll.library.setup.capturing import CaptureWay

ATTENTION = "capturing needs attention"
ADVICE = "follow the advice for each problem above"
NOTHING = "nothing archives new sessions by itself: run backscroll install hooks"


def way_as_json(way: "CaptureWay") -> dict[str, object]:
    """Return a way of capturing, as JSON."""
    return {
        "way": way.way,
        "home": str(way.home) if way.home else None,
        "installed": way.is_installed,
        "works": not way.problems if way.is_installed else None,
        "command": list(way.command),
        "problems": list(way.problems),
        "notes": list(way.notes),
        "hint": way.hint if way.is_broken or not way.is_installed else None,
        "last_captured": way.captured or None,
        "newer_sessions": way.newer,
    }


def write_capturing(ways: "Sequence[CaptureWay]", now: datetime) -> None:
    """Print of each way whether it is installed, whether it works, and when it last captured."""
    write(f"\n{heading('Capturing')}")
    homes = {way.home for way in ways if way.home}
    for way in ways:
        place = f"{clean_line(str(way.home))}: " if way.home and homes - {way.home} else ""
        state = f"{warning('PROBLEM')}" if way.is_broken else "ok" if way.is_installed else _absent(way)
        write(f"  {way.way:<8} {place}{state}{_history(way, now)}")
        for problem in way.problems if way.is_installed else ():
            write(warning(f"    {clean_line(problem)}"))
        for note in way.notes:
            write(f"    {clean_line(note)}")
        if way.is_broken:
            write(f"    next: {clean_line(way.hint)}")
    if not any(way.is_installed for way in ways):
        write(warning(f"  {NOTHING}"))


def broken_ways(ways: "Iterable[CaptureWay]") -> list[str]:
    """Return the ways that are installed and do not work: with any of these, `doctor` and `status` end with exit code
    1."""
    return sorted({way.way for way in ways if way.is_broken})


def capturing_lines(ways: "Sequence[CaptureWay]", now: datetime) -> Iterator[str]:
    """Yield all ways in one line, and a line for each that does not work."""
    there = [way for way in ways if way.is_installed]
    if not there:
        yield warning(f"Capture   {NOTHING}")
        return
    parts = [f"{clean_line(_short(way))} {_ago(way, now)}" for way in there]
    absent = [name for name in ("hooks", "plugin", "timer") if name not in {way.way for way in there}]
    more = f"; not installed: {', '.join(absent)}" if absent else ""
    yield f"Capture   {', '.join(parts)}{more}"
    for way in there:
        for problem in way.problems:
            yield warning(f"          {way.way}: {clean_line(problem)}")
        if way.problems:
            yield f"          next: {clean_line(way.hint)}"


def _absent(way: "CaptureWay") -> str:
    return "none runs" if way.way == "watcher" else f"not installed: {clean_line(way.hint)}"


def _short(way: "CaptureWay") -> str:
    return way.notes[0] if way.way == "watcher" and way.notes else way.way


def _history(way: "CaptureWay", now: datetime) -> str:
    if not way.captured:
        return "; has captured nothing yet" if way.is_installed else ""
    moment = _moment(way.captured)
    at = f"{minute(moment)} {zone_of([moment])}, {_ago(way, now)}" if moment else clean_line(way.captured)
    newer = f"; {plural(way.newer, 'session')} changed since" if way.newer else ""
    return f"; last captured {at}{newer}"


def _ago(way: "CaptureWay", now: datetime) -> str:
    from backscroll.render.search_results import ago

    moment = _moment(way.captured)
    return ago(moment, now) if moment else "(nothing yet)"


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
