"""`backscroll status`: what runs now, what today cost, what will be deleted, and the archive, in a few lines."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click

from backscroll.cli.capture_output import ADVICE, ATTENTION, broken_ways, capturing_lines, way_as_json
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, warning, write, write_json
from backscroll.cli.paging import width
from backscroll.errors import BackscrollError
from backscroll.render.cells import cut
from backscroll.render.projects import project_name
from backscroll.render.terminal import clean_line, moment, plural, size


@click.command("status")
@global_options()
def command() -> None:
    """Show which sessions run now, what today cost, what Claude Code will delete soon, and the state of the archive.

    Also says what archives new sessions by itself, when it last did, and what is wrong with it; `doctor` says more. The
    exit code is 1 if something that archives them is installed and does not work.

    \b
    Examples:
      backscroll status
      backscroll status --json | jq -r '.running[].session'
    """
    from backscroll.cli.sync_forgets import hidden_chats, hidden_line
    from backscroll.library.analytics.current_status import current_status
    from backscroll.library.setup.capturing import check_capturing

    request = current_request()
    now = datetime.now().astimezone()
    library = open_library(request)
    state = current_status(library, now)
    ways = [] if request.demo else check_capturing(library.settings, library.homes, now)
    hidden = hidden_chats(request.settings())
    if request.json:
        more = {"hidden": len(hidden), "capturing": [way_as_json(way) for way in ways]}
        write_json({**state, **more, "running": [_as_json(session) for session in state["running"]]})
    else:
        for line in (*_lines(state, now), *(capturing_lines(ways, now) if ways else ())):
            write(line)
        if hidden:
            write(warning(f"          {hidden_line(hidden)}"))
    if broken := broken_ways(ways):
        raise BackscrollError(f"{ATTENTION}: {', '.join(broken)}", f"{ADVICE}; backscroll doctor says more")


def _as_json(session: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: moment(session[name]) if session[name] else None for name in ("started", "last_active")}
    return {**session, **times}


def _lines(found: Mapping[str, Any], now: datetime) -> Iterator[str]:
    yield from _running(found["running"], now)
    yield from _today(found["today"], found["window"])
    yield from _expiring(found["deletion"])
    yield from _archive(found["archive"], now)
    yield from _sync(found["sync"], now)


def _running(running: list[dict[str, Any]], now: datetime) -> Iterator[str]:
    from backscroll.render.reports import dollars
    from backscroll.render.search_results import ago

    yield f"Running   {plural(len(running), 'session') if running else 'no session'}"
    room = width()
    for session in running:
        name = project_name(session["project"])
        when = f", {ago(session['last_active'], now)}" if session["last_active"] else ""
        cost = f", {dollars(session['cost_microdollars'])}" if session["cost_microdollars"] is not None else ""
        waits = f" for a {clean_line(session['waiting_for'])}" if session["waiting_for"] else ""
        about = f"  {name}{cost}{when}" + (f", {clean_line(session['status'])}{waits}" if session["status"] else "")
        start = f"          {clean_line((session['session'] or '?')[:8])}  "
        title = clean_line(session["title"] or "nothing said yet")
        yield start + (title if room is None else cut(title, max(10, room - len(start) - len(about)))) + about


def _today(today: Mapping[str, Any], window: Mapping[str, Any] | None) -> Iterator[str]:
    from backscroll.render.charts import unrecorded_line
    from backscroll.render.reports import dollars, short

    tokens = sum(value for name, value in today.items() if name.endswith("_tokens"))
    cost = dollars(today["cost_microdollars"] if today["messages"] else 0)
    yield f"Today     {cost} for {plural(today['messages'], 'answer')}, {short(tokens)} tokens"
    if today["unrecorded"]:
        yield f"          {unrecorded_line(today['unrecorded'])}"
    if window:
        left = int(window["minutes_left"])
        yield (
            f"          five-hour window: {dollars(window['cost_microdollars'])} so far,"
            f" {dollars(window['cost_microdollars_per_hour'])}/h, {left // 60}:{left % 60:02} left"
        )


def _expiring(deletion: Mapping[str, Any] | None) -> Iterator[str]:
    from backscroll.render.charts import expiring_line

    if deletion is not None:
        line = expiring_line(deletion)
        yield warning(line) if deletion["not_kept"] else line


def _archive(archive: Mapping[str, Any] | None, now: datetime) -> Iterator[str]:
    if archive is None:
        yield warning("Archive   nothing yet: run backscroll keep")
        return
    yield (
        f"Archive   {plural(archive['sessions'], 'session')}, {size(archive['bytes'])} in"
        f" {size(archive['stored_bytes'])}; {archive['only_in_archive']:,} deleted by Claude Code"
    )
    captured = f"updated {_ago(archive['captured'], now)}" if archive["captured"] else "never updated"
    verified = f"verified {_ago(archive['verified'], now)}" if archive["verified"] else "never verified"
    yield f"          {captured}, {verified}"
    if archive["damaged_lines"]:
        count = plural(archive["damaged_lines"], "damaged line")
        yield warning(f"          {count} in its catalogue: run backscroll archive verify")


def _sync(remotes: list[dict[str, Any]], now: datetime) -> Iterator[str]:
    for number, state in enumerate(remotes):
        start = "          " if number else "Sync      "
        if state["problem"]:
            yield warning(f"{start}{state['remote']}: {clean_line(state['problem'])}")
        elif state["is_paused"]:
            yield f"{start}{state['remote']}: paused"
        else:
            yield f"{start}{state['remote']}: {_ago(state['last_sync'], now) if state['last_sync'] else 'never synced'}"


def _ago(written: str, now: datetime) -> str:
    from backscroll.render.search_results import ago

    try:
        return ago(datetime.fromisoformat(written), now)
    except (ValueError, TypeError):
        return clean_line(written)
