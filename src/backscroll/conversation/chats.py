"""Group transcripts into chats.

Sessions that share rows are one chat: by the rows' uuids, by the ids of messages where uuids were replaced, by
`forkedFrom`, and where one session says that it continues in another or came out of it. A file that is gone is not
needed for that: the rows that its copies share are enough.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from backscroll.conversation.chat import Chat
from backscroll.conversation.copies import Copies
from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.conversation.tree import FAR, Tree
from backscroll.records.record import Record
from backscroll.records.sidecars import AgentMeta

PAST: Final = datetime.min.replace(tzinfo=UTC)


class ChatBuilder:
    """All chats of one or several homes. Records can be added in any order of the files."""

    def __init__(self, *, keep: bool = False, is_elsewhere: Callable[[str], bool] = lambda _: False) -> None:
        """With `keep`, rows hold on to their records, so that they can be read.

        `is_elsewhere` says whether a file is from another machine than the reader's.
        """
        self._keep, self._is_elsewhere = keep, is_elsewhere
        self._transcripts: dict[str, Transcript] = {}
        self._group_of: dict[str, _Group] = {}
        self._owners: dict[str, _Group] = {}
        self._first_holders: dict[tuple[str, str], Transcript] = {}
        """The first file with an answer, by the message's id and how the session began."""
        self._summaries: dict[str, dict[str, str]] = {}
        """The titles given to rows, by row and by the file that gives it."""

    def add(self, place: TranscriptPlace, records: Iterable[Record], meta: AgentMeta | None = None) -> list[Row | None]:
        """Add records of a file, in order. Return the row of each record, None if it is not a row."""
        transcript = self._transcripts.get(place.file)
        if transcript is None:
            transcript = self._transcripts[place.file] = Transcript(place, keep=self._keep, meta=meta)
            transcript.is_elsewhere = self._is_elsewhere(place.file)
        elif meta is not None:
            transcript.meta = meta
        before = _noted(transcript)
        had_begun = bool(transcript.first_typed)
        added = transcript.add(records)
        if transcript.is_elsewhere:
            mark_elsewhere((*added, *(repeated.row for repeated in transcript.repeated)))
        rows = [row for row in added if row is not None]
        self._extend(transcript, rows, rows if had_begun else transcript.rows)
        self._take_summaries(transcript)
        if before != _noted(transcript):
            self._group_of[place.file].found().tree.stale = True
        return added

    def take(self, transcript: Transcript, summaries: Mapping[str, Mapping[str, str]]) -> None:
        """Add a saved transcript, with the titles given to rows, by row and by file."""
        self._transcripts[transcript.place.file] = transcript
        transcript.is_elsewhere = self._is_elsewhere(transcript.place.file)
        if transcript.is_elsewhere:
            mark_elsewhere((*transcript.rows, *transcript.sidechains))
        self.entitle_rows(summaries)
        self._extend(transcript, transcript.rows, transcript.rows)

    def entitle_rows(self, titles: Mapping[str, Mapping[str, str]]) -> None:
        """Add titles given to rows, by row and by file."""
        for leaf, row_titles in titles.items():
            known = self._summaries.setdefault(leaf, {})
            if row_titles.items() <= known.items():
                continue
            known.update(row_titles)
            if (owner := self._owners.get(leaf)) is not None:
                owner.found().summaries[leaf] = self._summary_of(leaf)
                owner.found().changed()

    def transcript(self, file: str) -> Transcript | None:
        """Return the transcript of a file, if it was added."""
        return self._transcripts.get(file)

    def entitle(self, place: TranscriptPlace, title: str | None) -> None:
        """Set the title from the file next to the session."""
        self.add(place, ())
        self._transcripts[place.file].title_beside = title

    def remove(self, file: str) -> None:
        """Forget a file: it was rewritten and will be added again, or it no longer counts."""
        gone = self._transcripts.pop(file, None)
        if gone is None:
            return
        self._forget_summaries(file)
        group = self._group_of[file].found()
        others = [member for member in group.members.values() if member is not gone]
        for member in group.members.values():
            del self._group_of[member.place.file]
            for row in member.rows:
                self._owners.pop(row.uuid, None)
                self._owners.pop(row.parent or "", None)
                self._first_holders.pop((row.message_id or "", member.first_typed), None)
            for name in member.linked:
                self._owners.pop(f"session {name}", None)
        for member in others:
            self._extend(member, member.rows, member.rows)

    def _forget_summaries(self, file: str) -> None:
        for leaf in [leaf for leaf, titles in self._summaries.items() if file in titles]:
            del self._summaries[leaf][file]
            group = self._owners[leaf].found() if leaf in self._owners else None
            if not self._summaries[leaf]:
                del self._summaries[leaf]
            if group is not None:
                group.summaries.pop(leaf, None)
                if leaf in self._summaries:
                    group.summaries[leaf] = self._summary_of(leaf)
                group.changed()

    def chats(self) -> list[Chat]:
        """Return all chats, the most recently active first."""
        groups = {id(group): group for group in map(_Group.found, self._group_of.values())}
        chats = [group.chat() for group in groups.values()]
        return sorted(chats, key=lambda chat: (chat.last_active or PAST, chat.id), reverse=True)

    def _take_summaries(self, transcript: Transcript) -> None:
        """Record titles: a summary names the last row of its conversation, which can be in any file."""
        for summary in transcript.take_summaries():
            if summary.leaf_uuid and summary.summary:
                self._summaries.setdefault(summary.leaf_uuid, {})[transcript.place.file] = summary.summary
                owner = self._owners.get(summary.leaf_uuid)
                if owner is not None:
                    owner.found().summaries[summary.leaf_uuid] = self._summary_of(summary.leaf_uuid)
                    owner.found().changed()

    def _summary_of(self, leaf: str) -> str:
        """Return the summary of a row; of several, that in the last file by name, so that the choice is stable."""
        return max(self._summaries[leaf].items())[1]

    def _extend(self, transcript: Transcript, rows: list[Row], answers: list[Row]) -> None:
        """Join a transcript to its group, by its new rows and by the messages of `answers`.

        `answers` are all rows once the beginning of the session is known.
        """
        known = self._group_of.get(transcript.place.file)
        group = known.found() if known else _Group()
        self._group_of[transcript.place.file] = group
        group.take(transcript)
        group.changed()
        for name in transcript.linked:
            group = self._link(group, f"session {name}")
        if transcript.place.agent_id is not None:
            return
        for row in answers if transcript.first_typed else ():
            if row.message_id and not row.is_sidechain:
                group = self._link_message(group, transcript, row.message_id)
        owners = self._owners
        for row in rows:
            if group.copies is not None:
                group.tree.stale |= group.copies.change_with(row)
            if row.is_sidechain:
                continue
            # A row that represents another may be withdrawn, so nothing may be linked by it. The parent of a row is
            # nearly always the row before it, whose owner is known.
            uuid, parent = row.uuid, row.parent
            if not uuid.startswith("queued "):
                group = self._link(group, uuid)
            if parent and (owners.get(parent) is not group or self._summaries) and not parent.startswith("queued "):
                group = self._link(group, parent)
            group.tree.add(row)
        if transcript.roots.is_repeated and group.copies is None:
            group.tree.stale = True
        if known is None and group.sessions > 1:
            group.tree.stale = True  # copies among its rows are found when the tree is built

    def _link(self, group: "_Group", key: str) -> "_Group":
        owner = self._owners.setdefault(key, group)
        if owner is not group:
            group = group.join(owner.found())
        if key in self._summaries:
            group.summaries[key] = self._summary_of(key)
        return group

    def _link_message(self, group: "_Group", transcript: Transcript, message_id: str) -> "_Group":
        """Join sessions with equal answers although the uuids of their rows differ.

        Some stand-ins for the API give every message one id: then the conversations differ from their beginning.
        """
        other = self._first_holders.setdefault((message_id, transcript.first_typed), transcript)
        if other is transcript:
            return group
        return group.join(self._group_of[other.place.file].found())


def _noted(transcript: Transcript) -> tuple[object, ...]:
    """Return the statements of a file that may move rows which have their place already."""
    replaced = len(transcript.roots.replaced)
    return transcript.continued_in, transcript.derived_from, len(transcript.withdrawn), replaced


def mark_elsewhere(rows: Iterable[Row | None]) -> None:
    """Mark rows as those of a file of another machine."""
    for row in rows:
        if row is not None:
            row.is_elsewhere = True


class _Group:
    """The transcripts of one chat, as far as is known."""

    def __init__(self) -> None:
        self.members: dict[str, Transcript] = {}
        self.sessions = 0
        """Number of members that are sessions, not agents."""
        self.goes_on = False
        """Whether a member says that it continues in another session, or came out of one."""
        self.tree = Tree()
        self.copies: Copies | None = None
        """The rows that are copies, if the tree was built from several sessions."""
        self._merged_into: _Group | None = None
        self.summaries: dict[str, str] = {}
        """Titles of its rows, by row."""
        self._chat: Chat | None = None

    def take(self, transcript: Transcript) -> None:
        """Add a transcript, or process rows that were added to one."""
        if transcript.place.file not in self.members and transcript.place.agent_id is None:
            self.sessions += 1
        self.members[transcript.place.file] = transcript
        self.goes_on |= bool(transcript.continued_in or transcript.derived_from)

    def found(self) -> "_Group":
        """Return the group that this one was merged into."""
        group = self
        while group._merged_into is not None:
            group = group._merged_into
        step = self
        while step._merged_into is not None:
            step._merged_into, step = group, step._merged_into
        return group

    def join(self, other: "_Group") -> "_Group":
        """Merge two groups; the larger one absorbs the other."""
        if other is self:
            return self
        if (len(other.tree.nodes), len(other.members)) > (len(self.tree.nodes), len(self.members)):
            return other.join(self)
        self.members |= other.members
        self.sessions += other.sessions
        self.goes_on |= other.goes_on
        self.summaries |= other.summaries
        self.tree.stale |= bool(other.sessions) or other.tree.stale or self.goes_on
        other._merged_into = self
        self.changed()
        return self

    def changed(self) -> None:
        """Invalidate the chat after something was added."""
        self._chat = None

    def chat(self) -> Chat:
        """Return the chat, rebuilt after changes."""
        if self._chat is None:
            members = sorted(self.members.values(), key=_age)
            sessions = [member for member in members if member.place.agent_id is None]
            rows = {member.place.file: member.rows for member in sessions}
            # Which of two rows is the copy depends on which session is older, and that may change.
            if self.tree.stale or (self.copies is not None and self.copies.files != list(rows)):
                has_copies = len(sessions) > 1 or any(session.roots.is_repeated for session in sessions)
                self.copies = Copies(sessions) if has_copies else None
                self.tree = Tree.of(rows, self.copies.aliases if self.copies else {}, _earlier(sessions))
            agents = [member for member in members if member.place.agent_id is not None]
            self._chat = Chat(sessions, agents, self.tree, self.summaries)
        return self._chat


def _age(transcript: Transcript) -> tuple[datetime, bool, datetime, str]:
    """Sort key: oldest first; a session before its fork, which begins alike, else the one that ended first."""
    is_fork = bool(transcript.rows and transcript.rows[0].forked_from)
    return transcript.first or FAR, is_fork, transcript.last or FAR, transcript.place.file


def _earlier(sessions: list[Transcript]) -> dict[str, str]:
    """Return the file of the session that each file continues, where the client says so."""
    files = {session.session_id: session.place.file for session in sessions}
    earlier = {}
    for session in sessions:
        for name in session.derived_from:
            if name in files and name != session.session_id:
                earlier[session.place.file] = files[name]
    for session in sessions:
        later = files.get(session.continued_in)
        if later is not None and session.continued_in != session.session_id:
            earlier[later] = session.place.file
    return earlier
