"""Sync remote after remote, and print the result of each."""

import contextlib
from typing import TYPE_CHECKING, Any

from backscroll.cli.options import current_request
from backscroll.cli.output import ProgressLine, warning, write, write_json, write_note
from backscroll.cli.sync_output import synced_as_json, write_asked, write_synced
from backscroll.errors import BackscrollError, Busy
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.syncing.each_remote import Outcome
    from backscroll.library.syncing.remote_settings import RemoteSettings
    from backscroll.settings import Settings


def sync_all(settings: "Settings", remotes: list["RemoteSettings"]) -> None:
    """Sync with these remotes, and print the results. A remote that fails holds up no other."""
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import keep
    from backscroll.library.syncing.automatic import syncs_by_itself
    from backscroll.library.syncing.each_remote import sync_each
    from backscroll.library.syncing.forget_remotely import remove_forgotten
    from backscroll.library.syncing.sync import BUSY, Synced, sync
    from backscroll.sync.remotes import folder_at

    request = current_request()
    homes = open_homes(settings)
    with contextlib.suppress(Busy):  # then another process keeps new records
        keep(settings, homes)

    def run(remote: "RemoteSettings") -> Synced:
        with ProgressLine(f"syncing {remote.name}", quiet=request.quiet) as progress:
            # A folder may be the place of a disk that is not mounted; a bucket was emptied by someone.
            fills_empty = folder_at(remote.url) is None
            return sync(settings, remote, progress.set_total, progress.add, fills_empty=fills_empty)

    outcomes = sync_each(settings, remotes, run)
    done = [outcome.done for outcome in outcomes if outcome.done is not None]
    remove_forgotten(settings, remotes, done)
    if any(outcome.has_taken for outcome in done):
        from backscroll.library.local import local_library  # most syncs take nothing, and need no index

        with local_library(settings, homes) as library:
            if any(outcome.must_rebuild for outcome in done):
                library.rebuild()
            else:
                library.update()
    if request.json:
        write_json({"remotes": [_as_json(outcome) for outcome in outcomes]})
    else:
        for outcome in outcomes:
            if outcome.done is None and len(outcomes) > 1:
                write(warning(f"{outcome.remote}: {clean_line(outcome.problem)}."))
            elif outcome.done is not None and (not request.quiet or outcome.done.pulled.problems):
                write_synced(outcome.done)
        if done and not request.quiet:
            write_asked(done[-1].asked)
    _raise_failures(outcomes)
    problems = [problem for outcome in done for problem in outcome.pulled.problems]
    if problems and all(problem == BUSY for problem in problems) and syncs_by_itself(settings):
        if not request.quiet:
            write_note("a backscroll that runs (open, watch or sync --watch) takes it within a minute")
        return
    if problems:
        raise BackscrollError(
            "not everything could be taken from other machines",
            "run backscroll sync on them, then here; if it remains, run backscroll sync verify --deep --repair on them",
        )


def _raise_failures(outcomes: list["Outcome"]) -> None:
    """Raise the error of the remote that failed; one for all if there are several remotes."""
    errors = {outcome.remote: outcome.error for outcome in outcomes if outcome.error is not None}
    if not errors:
        return
    first = next(iter(errors.values()))
    defect = next((error for error in errors.values() if not isinstance(error, BackscrollError)), None)
    if len(outcomes) == 1 or defect is not None:
        raise defect or first
    hints = {error.hint for error in errors.values() if isinstance(error, BackscrollError)}
    kind = Busy if all(isinstance(error, Busy) for error in errors.values()) else BackscrollError
    hint = hints.pop() if len(hints) == 1 else "see backscroll sync status"
    raise kind(f"{len(errors)} of {len(outcomes)} remotes failed: {', '.join(errors)}", hint) from first


def _as_json(one: "Outcome") -> dict[str, Any]:
    if one.done is not None:
        return {**synced_as_json(one.done), "error": None}
    error = one.error
    kind, hint = (error.kind, error.hint) if isinstance(error, BackscrollError) else ("failure", "")
    return {
        "remote": one.remote, "problems": [one.problem],
        "error": {"kind": kind, "message": one.problem, "hint": hint},
    }  # fmt: skip
