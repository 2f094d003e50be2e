"""The remotes on the settings page: progress of each machine, pending data, errors; sync now, pause and resume."""

import threading
from datetime import datetime
from http import HTTPStatus
from typing import Final

from starlette.responses import RedirectResponse, Response

from backscroll.errors import BackscrollError, UsageError
from backscroll.library.archives import find_archive
from backscroll.library.library import Library
from backscroll.library.syncing.automatic import sync_quietly
from backscroll.library.syncing.remote_settings import RemoteSettings, find_remote, note_remote, read_remotes
from backscroll.library.syncing.status import DeviceStatus, RemoteStatus, status
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import clean_line, plural, size
from backscroll.web.live_updates import LiveUpdates
from backscroll.web.pages.chat_rows import when
from backscroll.web.requests import PageRequest

ACTION: Final = "/settings/sync"


def show(request: PageRequest) -> Html:
    """Return the section alone, for a page that waits for a sync to end."""
    return sync_state(request.library)


def act(request: PageRequest) -> Response:
    """Sync now, or pause or resume a remote."""
    settings = request.library.settings
    action, name = request.form.get("action", ""), request.form.get("remote", "")
    if action == "sync":
        live: LiveUpdates = request.http.app.state.live
        if not live.sync_now():
            threading.Thread(target=sync_quietly, args=(settings,), name="sync once", daemon=True).start()
    elif action in ("pause", "resume"):
        find_remote(settings, name)
        note_remote(settings, name, is_paused=action == "pause")
    else:
        raise UsageError(f"unknown action: {action}", "use the buttons of the settings page")
    return RedirectResponse(f"/settings{'?started=1' if action == 'sync' else ''}#sync", HTTPStatus.SEE_OTHER)


def sync_state(library: Library, *, is_started: bool = False) -> Html:
    """Return all remotes as of the last sync: no remote is asked, it could be away."""
    try:
        remotes = list(read_remotes(library.settings).values())
    except BackscrollError as error:
        return _trouble(error.message)
    if not remotes:
        return join([
            el("p", "One history on all your machines, through a shared folder or a bucket. Nothing leaves this "
                    "machine unless you add a remote.", class_="muted"),
            el("p", el("code", "backscroll sync add nas /mnt/nas/backscroll")),
        ])  # fmt: skip
    states = [_state(library, remote) for remote in remotes]
    is_busy = is_started or any(state.is_syncing for state in states)
    button = el("form", el("button", "Syncing …" if is_busy else "Sync now", name="action", value="sync",
                           disabled=is_busy), method="post", action=ACTION)  # fmt: skip
    parts = [_remote(state) for state in states]
    can_sync = any(not remote.is_paused for remote in remotes)
    return el("div", parts, button if can_sync else NOTHING, data_syncing="1" if is_busy else None)


def _state(library: Library, remote: RemoteSettings) -> RemoteStatus:
    try:
        archive = find_archive(library.settings)
        if archive is None:
            return RemoteStatus(remote, [], 0, remote.problem)
        return status(library.settings, remote, asks=False, archive=archive)
    except BackscrollError as error:
        return RemoteStatus(remote, [], 0, error.message)


def _remote(one: RemoteStatus) -> Html:
    remote = one.remote
    badges = [el("span", text, class_="badge") for text, is_on in
              (("paused", remote.is_paused), ("encrypted", remote.is_encrypted)) if is_on]  # fmt: skip
    rows: list[tuple[str, object]] = [
        ("Place", el("code", clean_line(remote.url))),
        ("Last sync", when(_moment(remote.last_sync)) if remote.last_sync else "never"),
        ("Waiting", f"{size(one.waiting)} to be sent" if one.waiting else "nothing"),
        ("Last proof", when(_moment(remote.last_proof)) if remote.last_proof
         else join(["never: ", el("code", f"backscroll sync verify {remote.name}")])),
    ]  # fmt: skip
    action, text = ("resume", "Resume") if remote.is_paused else ("pause", "Pause")
    pause = el("form", el("input", type="hidden", name="remote", value=remote.name),
               el("button", text, name="action", value=action, class_="quiet", aria_label=f"{text} {remote.name}"),
               method="post", action=ACTION)  # fmt: skip
    return el(
        "div",
        el("div", el("h3", remote.name, *(join([" ", badge]) for badge in badges)), pause, class_="remote-head"),
        _trouble(one.problem) if one.problem else NOTHING,
        _withheld(one),
        el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in rows], class_="facts-list"),
        _devices(one.devices),
        class_="remote",
    )


def _withheld(one: RemoteStatus) -> Html:
    count = one.withheld.sessions + one.withheld.files
    if not count:
        return NOTHING
    noun = "session" if not one.withheld.files else "file" if not one.withheld.sessions else "session or file"
    text = f"{plural(count, noun)} that {'was' if count == 1 else 'were'} sent may not leave any more: "
    return el("p", text, el("code", f"backscroll sync withdraw {one.remote.name}"), class_="problem")


def _trouble(problem: str) -> Html:
    return el("p", clean_line(problem), class_="problem", role="status")


def _devices(devices: list[DeviceStatus]) -> Html:
    if not devices:
        return NOTHING
    head = el("tr", el("th", "Machine", scope="col"), el("th", "On the remote", scope="col", class_="number"),
              el("th", "Bundles", scope="col", class_="number"), el("th", "State", scope="col"))  # fmt: skip
    rows = [
        el("tr",
           el("td", clean_line(device.machine or device.device), class_="mono"),
           el("td", size(device.size), class_="number"),
           el("td", f"{device.bundles:,}", class_="number"),
           el("td", _lag(device)))
        for device in devices
    ]  # fmt: skip
    table = el("table", el("thead", head), el("tbody", rows))
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Machines")


def _lag(one: DeviceStatus) -> Html | str:
    if one.is_own:
        lost = f", {plural(one.behind, 'bundle')} lost by the remote" if one.behind else ""
        return f"this machine{lost}"
    if one.behind:
        return el("span", f"{plural(one.behind, 'bundle')} not here yet", class_="badge warn")
    if one.unknown:
        return el("span", f"{plural(one.unknown, 'file')} of an unknown kind: update backscroll", class_="badge warn")
    return "all of it is here"


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text or "")
    except ValueError:
        return None
