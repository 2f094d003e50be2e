"""The origin of each session of a chat: another session that it was made from."""

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

from backscroll.conversation.chat import Chat
from backscroll.conversation.transcripts import Transcript
from backscroll.conversation.turns import Node


class OriginKind(StrEnum):
    """The way in which a session was made from another."""

    FORKED = "forked"
    """With `--fork-session`: a copy of its rows, with their times."""
    BRANCHED = "branched"
    """With `/branch`: every row names the row that it is a copy of."""
    COPIED = "copied"
    """Up to 1.0.120 a resumed session was copied, with the time of the resume; up to 1.0.17 under new uuids."""
    CONTINUED = "continued"
    """Holds no rows of the other, but continues it: the client says so, or its first row has its parent there."""


class SessionOrigin(NamedTuple):
    """The session that another was made from, and the way."""

    session: Transcript
    kind: OriginKind


def origins_of(chat: Chat) -> dict[str, SessionOrigin]:
    """Return the origin of each session that has one in its chat, by its file. Copies in backups have none."""
    origins: dict[str, SessionOrigin] = {}
    for at, session in enumerate(chat.sessions):
        older = {
            earlier.place.file: earlier for earlier in chat.sessions[:at] if earlier.session_id != session.session_id
        }
        nodes = [node for row in session.rows if (node := chat.tree.find(row.uuid)) is not None]
        shared = Counter(file for node in nodes for file in {copy.transcript for copy in node.copies} if file in older)
        if shared:
            most = max(shared.values())
            file = [name for name in older if shared[name] == most][-1]
            origins[session.place.file] = SessionOrigin(older[file], _kind_of(nodes, session.place.file, file))
        elif nodes and (parent := nodes[0].parent) is not None and parent.row.transcript in older:
            origins[session.place.file] = SessionOrigin(older[parent.row.transcript], OriginKind.CONTINUED)
    return origins


def _kind_of(nodes: list[Node], file: str, origin: str) -> OriginKind:
    """Return the way in which rows were copied, from the first row that both sessions have."""
    for node in nodes:
        copy = next((copy for copy in node.copies if copy.transcript == file), None)
        original = next((copy for copy in node.copies if copy.transcript == origin), None)
        if copy is not None and original is not None:
            if copy.forked_from is not None:
                return OriginKind.BRANCHED
            return OriginKind.FORKED if copy.when == original.when else OriginKind.COPIED
    return OriginKind.CONTINUED
