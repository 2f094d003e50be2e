"""Keys of encrypted remotes: kept on this machine, and checked and repaired on the remote."""

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from backscroll.disk import private_folder, read_own, write_private
from backscroll.errors import BackscrollError, UsageError
from backscroll.library.syncing.remote_settings import RemoteSettings, key_facts_path, read_key, sync_folder_of
from backscroll.settings import Settings
from backscroll.sync.key_object import (
    KeptKey,
    KeyPlan,
    StartedAnewError,
    carry_out,
    choose_key,
    is_encrypted,
    plan_for,
    read_facts,
    write_facts,
)
from backscroll.sync.objects import ROOT
from backscroll.sync.recovery_sheet import read_sheet
from backscroll.sync.remotes import Folder, Remote, RemoteObject
from backscroll.sync.sealing import (
    KEY_OBJECT,
    KeyFacts,
    KeyObjectError,
    WrongPassphraseError,
    derive,
    is_proved,
    open_key,
    with_proof,
)

MENDED = ": it was written again"


class Chosen(NamedTuple):
    """The encryption of a remote that is being added."""

    key: bytes
    plan: KeyPlan
    is_new: bool = False
    """Whether the remote becomes encrypted now."""


def choose(
    store: Remote,
    environment: str | None,
    ask: Callable[[bool], str],
    *,
    encrypts: bool | None,
    sheet: str | None = None,
) -> Chosen | None:
    """Return the key for a remote that is being added; None without encryption. Writes nothing.

    `environment` has the passphrase, or `ask` gets it; its argument says whether it is a new one. `encrypts` is the
    user's choice for a new remote; without a choice, it is encrypted if the environment has a passphrase.
    """
    listing = [*store.list(ROOT)]
    if sheet is not None:
        return _choose_by_sheet(store, listing, read_sheet(sheet), environment or ask(False))
    known = is_encrypted(store, listing)
    if known and encrypts is False:
        raise UsageError("this remote is encrypted", "add it without --no-encrypt")
    if known is None and encrypts is None:
        encrypts = bool(environment)
    if not known and not encrypts:
        return None
    chosen_key = choose_key(store, listing, (environment or ask(not known)) if known is not False else "")
    if chosen_key is None:
        return None
    key, facts = chosen_key
    kept = KeptKey(facts)
    if known:
        return Chosen(key, plan_for(store, listing, key, kept))
    return Chosen(key, KeyPlan(kept, is_missing=True, must_write=True), is_new=True)


def _choose_by_sheet(store: Remote, listing: Sequence[RemoteObject], facts: KeyFacts, passphrase: str) -> Chosen:
    key = derive(passphrase, facts)
    if not is_proved(key, facts):
        raise _OtherSheetError if _opens_without(store, passphrase) else WrongPassphraseError
    kept = KeptKey(with_proof(key, facts))
    try:
        plan = plan_for(store, listing, key, kept)
    except StartedAnewError as error:
        raise _OtherSheetError from error
    return Chosen(key, plan)


def _opens_without(store: Remote, passphrase: str) -> bool:
    """Whether a passphrase opens a remote by the remote's own key object."""
    try:
        facts = read_facts(store)
        return facts is not None and bool(open_key(passphrase, facts))
    except BackscrollError:
        return False


class _OtherSheetError(UsageError):
    def __init__(self) -> None:
        super().__init__(
            "this recovery sheet is of another remote: nothing here opens with it",
            "compare the address on it; or add the remote without --recovery, if it has its key.json",
        )


def keep_chosen(settings: Settings, name: str, store: Remote, chosen: Chosen) -> None:
    """Write the key object if it is missing or wrong, and keep its content."""
    plan = chosen.plan
    if chosen.is_new and plan.kept and not write_facts(store, plan.kept.facts):
        hint = "run the same command again, with the passphrase of that machine"
        raise KeyObjectError("another machine has just begun to use this remote", hint)
    kept = plan.kept if chosen.is_new else carry_out(store, plan)
    _write_kept(settings, name, kept)


def mend_key(
    settings: Settings, remote: RemoteSettings, store: Remote, listing: Sequence[RemoteObject]
) -> tuple[list[str], list[str]]:
    """Make sure that a remote has its key object; return notes and problems. Costs a request only if it changed."""
    key = read_key(settings, remote)
    if key is None or _is_away(store):
        return [], []
    before = read_kept(settings, remote.name)
    plan = plan_for(store, listing, key, before)
    try:
        kept = carry_out(store, plan)
    except KeyObjectError as error:
        return [], [error.message]
    if kept != before:
        _write_kept(settings, remote.name, kept)
    if plan.problem:
        return [], [plan.problem]
    return ([plan.note + MENDED] if plan.note else []), []


def key_problem(settings: Settings, remote: RemoteSettings, store: Remote) -> str:
    """Return the problem with the key object of a remote; empty if there is none. Reads the object."""
    key = read_key(settings, remote)
    if key is None:
        return ""
    kept = read_kept(settings, remote.name)
    listing = [*store.list(ROOT)]
    return "" if _is_away(store) else plan_for(store, listing, key, KeptKey(kept.facts) if kept else None).note


def _is_away(store: Remote) -> bool:
    """Whether a program that syncs a folder has only a placeholder of the key object here."""
    return isinstance(store, Folder) and KEY_OBJECT in store.findings.away


def recovery_facts(
    settings: Settings, remote: RemoteSettings, open_store: Callable[[], Remote], passphrase: Callable[[], str]
) -> KeyFacts:
    """Return the content of a remote's recovery sheet. If salt and costs were never proved, the passphrase does it."""
    key = read_key(settings, remote)
    if key is None:
        raise UsageError(f"{remote.name} is not encrypted", "there is nothing to recover: whoever has it can read it")
    kept = read_kept(settings, remote.name)
    if kept is not None and is_proved(key, kept.facts):
        return kept.facts
    there = None
    with contextlib.suppress(BackscrollError):
        there = read_facts(open_store())
    if there is not None and is_proved(key, there):
        _write_kept(settings, remote.name, KeptKey(there))
        return there
    typed_passphrase = passphrase()
    for facts in (there, kept.facts if kept else None):
        with contextlib.suppress(BackscrollError):
            if facts is not None and derive(typed_passphrase, facts) == key:
                proved = with_proof(key, facts)
                _write_kept(settings, remote.name, KeptKey(proved))
                return proved
    if there is None and kept is None:
        raise KeyObjectError(f"the key.json of {remote.name} is not there", "run this on another machine that has it")
    raise WrongPassphraseError


def read_kept(settings: Settings, name: str) -> KeptKey | None:
    """Return the kept content of a remote's key object; None if there is none."""
    try:
        return msgspec.json.decode(read_own(key_facts_path(settings, name)), type=KeptKey)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):  # it is taken from the remote again
        return None


def _write_kept(settings: Settings, name: str, kept: KeptKey | None) -> None:
    if kept is not None:
        private_folder(sync_folder_of(settings))
        write_private(key_facts_path(settings, name), msgspec.json.encode(kept))
