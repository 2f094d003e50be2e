"""Chats that another device asks to forget, and the effects of the user's answer.

An agreement is noted before any file is removed. If the archive is busy then, the next sync removes it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_named_after, keys_of, owned_keys, path_key
from backscroll.archive.kept_file import KeptFile
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.layout import CONTAINERS
from backscroll.library.archives import find_archive, open_writer
from backscroll.library.forget_requests import ForgetRequest, ForgetRequests, HiddenFiles, requests_stamp
from backscroll.settings import Settings
from backscroll.sync.forgotten_elsewhere import ForgottenElsewhere, forget_keys
from backscroll.sync.pull import Writing

SHORTEST_ID = 4


@dataclass
class AskedChat:
    """A chat that another device asks to forget: the files of one session, or a single file of none."""

    id: str
    """The id of the session; for a file without one, the beginning of a hash."""
    is_session: bool
    files: list[KeptFile] = field(default_factory=list)
    """The files of the session; for a session inside the database of an early client, the database."""
    keys: set[str] = field(default_factory=set)
    """All hashes by which its files would count as forgotten."""
    requests: list[ForgetRequest] = field(default_factory=list)

    @property
    def askers(self) -> list[str]:
        """The machines that ask, in the order of their requests."""
        return list(dict.fromkeys(request.machine or request.device for request in self.requests))

    @property
    def machines(self) -> list[str]:
        """The machines of the chat's files."""
        return sorted({file.machine for file in self.files})

    @property
    def size(self) -> int:
        """Bytes of the chat's files, in all versions."""
        return sum(version.size for file in self.files for version in file.versions)


def asked_chats(settings: Settings, archive: Archive | None = None) -> list[AskedChat]:
    """Return the chats whose forgetting waits for an answer."""
    if not requests_stamp(settings):
        return []
    requests = ForgetRequests(settings)
    archive = archive or find_archive(settings)
    return _matching(requests, archive, requests.waiting) if archive else []


def count_by_asker(chats: Iterable[AskedChat]) -> dict[str, int]:
    """Return the number of these chats by asking machine; a chat that several ask for counts for the first."""
    return dict(Counter(chat.askers[0] for chat in chats if chat.askers))


def choose_asked(chats: list[AskedChat], ids: Collection[str]) -> list[AskedChat]:
    """Return the chats whose ids begin with one of these; all without ids."""
    if not ids:
        return chats
    chosen: list[AskedChat] = []
    for name in ids:
        matches = [chat for chat in chats if chat.id.startswith(name.lower())]
        if not matches or len(name) < SHORTEST_ID:
            raise NothingFound(f"no machine asks to forget a chat {name}", "backscroll sync forgets lists them")
        if len(matches) > 1:
            raise UsageError(f"{len(matches)} of these chats begin with {name}", "give more of the id")
        chosen += [chat for chat in matches if chat not in chosen]
    return chosen


def refuse(settings: Settings, chats: Iterable[AskedChat]) -> None:
    """Refuse to forget the chats: they are visible and sent again, and their requests are not shown again."""
    ForgetRequests(settings).answer({key for chat in chats for key in chat.keys}, "refused")


def agree(settings: Settings, chats: Iterable[AskedChat]) -> None:
    """Agree to forget the chats: `forget_agreed` removes them."""
    ForgetRequests(settings).answer({key for chat in chats for key in chat.keys}, "agreed")


def note_request(requests: ForgetRequests, request: ForgottenElsewhere) -> int:
    """Note a request of another device, durably; return the number of hashes left out, if the request is too large."""
    return requests.add(request.device, request.machine, request.at, request.keys)


def forget_agreed(settings: Settings, writing: Writing | None = None) -> list[AskedChat]:
    """Remove chats that the user agreed to forget from the archive, with their marks; return the removed chats.

    If the settings agree to everything, waiting requests are agreed to first. Raises Busy if another process has the
    archive.
    """
    if not requests_stamp(settings):
        return []
    requests = ForgetRequests(settings)
    if settings.forget == "agree":
        requests.answer(requests.waiting, "agreed")
    archive = find_archive(settings)
    keys = requests.agreed - archive.forgotten if archive is not None else set()
    if archive is None or not keys:
        return []
    from backscroll.library.keeping.forget import (
        remove_marks_of_sessions,
    )  # its imports include modules that read a whole library

    chats = _matching(requests, archive, keys)
    remove_marks_of_sessions(settings, [chat.id for chat in chats])  # first: an interrupted removal is repeated
    if writing is None:
        with open_writer(settings) as writer:
            forget_keys(writer, keys)
    else:
        with writing() as writer:
            forget_keys(writer, keys)
    return chats


def holding(settings: Settings, archive: Archive) -> Callable[[KeptFile], bool]:
    """Return a test whether a file must not be sent until the user has answered."""
    hidden = ForgetRequests(settings).hidden if requests_stamp(settings) else HiddenFiles()
    machines = archive.machines

    def is_held(file: KeptFile) -> bool:
        if not hidden.keys:
            return False
        paths = (file.path, *(path for path in _inside(archive, file)))
        return any(hidden.hides(machines, file.machine, file.home, path) for path in paths)

    return is_held


def _matching(requests: ForgetRequests, archive: Archive, keys: Set[str]) -> list[AskedChat]:
    """Return the chats of an archive with one of these keys, the last changed first."""
    chats: dict[str, AskedChat] = {}
    by_id_first = sorted(archive.files.values(), key=lambda file: file.place.session_start is not None) if keys else ()
    for file in by_id_first:
        for path in (file.path, *_inside(archive, file)):
            own = keys_of(archive.machines, file.machine, file.home, path)
            if keys.isdisjoint(own):
                continue
            session = file.place.session_id if path == file.path else path.rpartition("/")[2].removesuffix(".jsonl")
            if session:
                own = own | owned_keys(file.machine, keys_named_after([(file.home, path)]))
            elif start := file.place.session_start:
                session = next((name for name in chats if name.startswith(start)), None)
            name = (session or path_key(file.home, path)).lower()
            chat = chats.setdefault(name, AskedChat(name, is_session=bool(session)))
            chat.files.append(file)
            chat.keys |= own
    for chat in chats.values():
        chat.requests = requests.about(chat.keys & keys)
    return sorted(chats.values(), key=lambda chat: (-max(map(_modified, chat.files)), chat.id))


def _inside(archive: Archive, file: KeptFile) -> Iterator[str]:
    """Yield the paths of the sessions inside a file of an early client."""
    if file.type not in CONTAINERS or file.latest is None:
        return
    from backscroll.archive.early import kept_contents  # few homes have such a file, and it imports a lot

    with suppress(OSError, BackscrollError):
        for name in kept_contents(archive, file, file.latest).sessions:
            yield f"{file.path}/{name}.jsonl"


def _modified(file: KeptFile) -> int:
    return file.latest.modified_ns if file.latest is not None else 0
