"""Which transcripts are one chat.

Sessions that share rows are: by the rows' uuids, by the ids of messages where uuids were given anew, by `forkedFrom`,
and where one session says that it goes on in another or came out of it. A file that is gone is not needed for that:
what its copies share is enough.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from backscroll.conversation.chat import Chat
from backscroll.conversation.copies import copied_rows
from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Place, Transcript
from backscroll.conversation.tree import Tree
from backscroll.records import AgentMeta, Record

FAR: Final = datetime.max.replace(tzinfo=UTC)
PAST: Final = datetime.min.replace(tzinfo=UTC)


class Chats:
    """All chats of one or several homes. Grows as records come, in any order of the files."""

    def __init__(self, *, keep: bool = False) -> None:
        """With `keep`, rows hold on to their records, so that they can be read."""
        self._keep = keep
        self._transcripts: dict[str, Transcript] = {}
        self._group_of: dict[str, _Group] = {}
        self._owners: dict[str, _Group] = {}
        self._messages: dict[str, Transcript] = {}

    def add(self, place: Place, records: Iterable[Record], meta: AgentMeta | None = None) -> None:
        """Take more records of a file, in their order; a file may also have none."""
        transcript = self._transcripts.get(place.file)
        if transcript is None:
            transcript = self._transcripts[place.file] = Transcript(place, keep=self._keep, meta=meta)
        elif meta is not None:
            transcript.meta = meta
        before = (transcript.continued_in, transcript.derived_from, transcript.withdrawn)
        rows = transcript.add(records)
        self._extend(transcript, rows)
        if before != (transcript.continued_in, transcript.derived_from, transcript.withdrawn):
            self._group_of[place.file].found().tree.stale = True

    def remove(self, file: str) -> None:
        """Forget a file: it was rewritten and will be added anew, or it does not count any more."""
        gone = self._transcripts.pop(file, None)
        if gone is None:
            return
        group = self._group_of[file].found()
        others = [member for member in group.members.values() if member is not gone]
        for member in group.members.values():
            del self._group_of[member.place.file]
            for row in member.rows:
                self._owners.pop(row.uuid, None)
                self._owners.pop(row.parent or "", None)
                self._messages.pop(row.message_id or "", None)
            for name in member.linked:
                self._owners.pop(f"session {name}", None)
        for member in others:
            self._extend(member, member.rows)

    def chats(self) -> list[Chat]:
        """Every chat there is, the one that was last active first."""
        groups = {id(group): group for group in map(_Group.found, self._group_of.values())}
        self._assign_summaries(groups)
        chats = [group.chat() for group in groups.values()]
        return sorted(chats, key=lambda chat: (chat.last_active or PAST, chat.id), reverse=True)

    def _assign_summaries(self, groups: dict[int, "_Group"]) -> None:
        """A summary names the last row of the conversation that it is the title of, in whatever file it stands."""
        found: dict[int, dict[str, str]] = {}
        for transcript in sorted(self._transcripts.values(), key=lambda transcript: transcript.place.file):
            for summary in transcript.summaries:
                owner = self._owners.get(summary.leaf_uuid or "")
                if owner is not None and summary.leaf_uuid and summary.summary:
                    found.setdefault(id(owner.found()), {})[summary.leaf_uuid] = summary.summary
        for key, group in groups.items():
            group.take_summaries(found.get(key, {}))

    def _extend(self, transcript: Transcript, rows: list[Row]) -> None:
        group = self._group_of.get(transcript.place.file)
        group = group.found() if group else _Group()
        self._group_of[transcript.place.file] = group
        group.members[transcript.place.file] = transcript
        group.changed()
        group.tree.stale |= group.has_new_uuids
        for name in transcript.linked:
            group = self._link(group, f"session {name}")
        if transcript.place.agent_id is not None:
            return
        for row in rows:
            if not row.is_sidechain:
                if row.message_id and row.uuid not in self._owners:
                    group = self._link_message(group, transcript, row.message_id)
                group = self._link(group, row.uuid)
                if row.parent:
                    group = self._link(group, row.parent)
                group.tree.add(row)

    def _link(self, group: "_Group", key: str) -> "_Group":
        owner = self._owners.setdefault(key, group)
        return group if owner is group else group.join(owner.found())

    def _link_message(self, group: "_Group", transcript: Transcript, message_id: str) -> "_Group":
        """Join sessions whose answers are the same though the uuids of the rows are not."""
        other = self._messages.setdefault(message_id, transcript)
        if other is transcript or not _begin_alike(transcript, other):
            return group
        group = group.join(self._group_of[other.place.file].found())
        group.has_new_uuids = group.tree.stale = True
        return group


def _begin_alike(one: Transcript, other: Transcript) -> bool:
    # Some stand-ins for the API give every message the same id: then the conversations differ from their beginning.
    return one.first_prompt == other.first_prompt


class _Group:
    """The transcripts of one chat, as far as is known."""

    def __init__(self) -> None:
        self.members: dict[str, Transcript] = {}
        self.tree = Tree()
        self.has_new_uuids = False
        self._merged_into: _Group | None = None
        self._summaries: dict[str, str] = {}
        self._chat: Chat | None = None

    def found(self) -> "_Group":
        """The group that this one has become part of."""
        group = self
        while group._merged_into is not None:
            group = group._merged_into
        if group is not self:
            self._merged_into = group
        return group

    def join(self, other: "_Group") -> "_Group":
        """One group out of two; the larger one takes the other in."""
        if other is self:
            return self
        if len(other.tree.nodes) > len(self.tree.nodes):
            return other.join(self)
        self.members |= other.members
        self.has_new_uuids |= other.has_new_uuids
        self.tree.stale |= bool(other.tree.nodes) or other.tree.stale
        other._merged_into = self
        self.changed()
        return self

    def changed(self) -> None:
        """Something was added: what was known of the chat no longer holds."""
        self._chat = None

    def take_summaries(self, summaries: dict[str, str]) -> None:
        """The titles that were given to rows of this chat."""
        if summaries != self._summaries:
            self._summaries = summaries
            self.changed()

    def chat(self) -> Chat:
        """The chat as it is now."""
        if self._chat is None:
            members = sorted(self.members.values(), key=_age)
            sessions = [member for member in members if member.place.agent_id is None]
            if self.tree.stale:
                aliases = copied_rows(sessions) if self.has_new_uuids else {}
                rows = {member.place.file: member.rows for member in sessions}
                self.tree = Tree.of(rows, aliases, _earlier(sessions))
            agents = [member for member in members if member.place.agent_id is not None]
            self._chat = Chat(sessions, agents, self.tree, self._summaries)
        return self._chat


def _age(transcript: Transcript) -> tuple[datetime, datetime, str]:
    """Oldest first; of a session and its fork, which begin alike, the one that ended first."""
    return transcript.first or FAR, transcript.last or FAR, transcript.place.file


def _earlier(sessions: list[Transcript]) -> dict[str, str]:
    """Of a file, the file of the session that it goes on from, where the client says so."""
    files = {session.session_id: session.place.file for session in sessions}
    earlier = {}
    for session in sessions:
        for name in session.derived_from:
            if name in files and files[name] != session.place.file:
                earlier[session.place.file] = files[name]
    for session in sessions:
        later = files.get(session.continued_in)
        if later is not None and later != session.place.file:
            earlier[later] = session.place.file
    return earlier
