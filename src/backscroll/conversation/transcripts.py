"""One transcript: the rows of one file in their order, and what the file says about itself.

Takes records as they come. What several transcripts make together is the business of `chats`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from backscroll.conversation.kinds import TURNS, Kind
from backscroll.conversation.rows import LONGEST_TEXT, Row
from backscroll.conversation.usage import SYNTHETIC
from backscroll.records import (
    AgentMeta,
    AgentName,
    AiTitle,
    Attachment,
    AttachmentBody,
    ChainRecord,
    ContinuedIn,
    CustomTitle,
    DerivedFrom,
    ForkContextRef,
    LastPrompt,
    PrLink,
    ProjectFinder,
    QueueOperation,
    Record,
    Summary,
    Tag,
    UnknownRecord,
    User,
    agent_result,
)


class Place(NamedTuple):
    """Which file a transcript is: `file` is any name that tells it from the others."""

    file: str
    session_id: str | None
    agent_id: str | None = None
    origin: str | None = None
    """The file that this is an earlier version of: rows without a uuid are named alike in both."""


class Checkpoint(NamedTuple):
    """Where the client last said that the conversation stood."""

    position: int
    leaf: str | None
    explicit: bool


class Transcript:
    """A session's own file, or an agent's."""

    def __init__(self, place: Place, *, keep: bool = False, meta: AgentMeta | None = None) -> None:
        self.place = place
        self.meta = meta
        self.rows: list[Row] = []
        self.sidechains: list[Row] = []
        """Rows of sub-agents inside a session's own file, as up to 2.0.20."""
        self.title_beside: str | None = None
        """The title that the user gave, where it stands in a file of its own."""
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.agent_name: str | None = None
        self.tags: dict[str, None] = {}
        self.pr_links: dict[str, PrLink] = {}
        self._summaries: list[Summary] = []
        self.checkpoint: Checkpoint | None = None
        self.continued_in: str | None = None
        self.derived_from: list[str] = []
        self.fork_context: ForkContextRef | None = None
        self.versions: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.models: dict[str, None] = {}
        self.agents_named: dict[str, str] = {}
        """Which agent a call was answered by: call id → agent id."""
        self.linked: dict[str, None] = {place.session_id: None} if place.session_id else {}
        """Sessions that this one has rows of, or came out of, or goes on in."""
        self.first_typed = ""
        self.withdrawn: list[str] = []
        """The rows that were taken back: what was made of them has to be made anew."""
        self.first: datetime | None = None
        self.last: datetime | None = None
        self._finder = ProjectFinder()
        self._session_of_rows: str | None = None
        self._repeated: tuple[object, ...] = ()
        self._keep = keep
        self.position = 0
        """How many records it has taken."""
        self._queue: list[str] = []
        self._queued_at: dict[str, int] = {}
        self._absorbed: list[Row] = []
        self._agent_calls: set[str] = set()
        self._calls: set[str] = set()

    @property
    def project(self) -> str | None:
        """The working directory, as the rows tell it."""
        return self._finder.path

    @property
    def session_id(self) -> str | None:
        """The session that the file is, or belongs to: by its name, else by its rows."""
        return self.place.session_id or self._session_of_rows

    def add(self, records: Iterable[Record]) -> list[Row | None]:
        """Take more records, and give for each the row of the conversation that it is, if it is one."""
        added: list[Row | None] = []
        for record in records:
            position = self.position
            self.position += 1
            self._finder.see(record)
            if isinstance(record, QueueOperation):
                queued = self._see_queue(record)
                if queued is None:
                    added.append(None)
                    continue
                record = queued  # it stands for a row that the client did not write
            if isinstance(record, ChainRecord) and not _is_outside(record):
                row = Row(record, self.place.file, position, keep=self._keep, origin=self.place.origin)
                self._see_row(row, record)
                added.append(row)
            else:
                self._see_other(record, position)
                added.append(None)
        return added

    def take_summaries(self) -> list[Summary]:
        """The titles of conversations that it has given since it was last asked."""
        taken, self._summaries = self._summaries, []
        return taken

    def _see_queue(self, record: QueueOperation) -> Attachment | None:
        """Follow what was typed while the model was at work.

        Taken from the queue in the middle of a turn, it is in no row of some versions: then this is all there is of it,
        and it becomes the attachment that later versions write.
        """
        text = record.text
        if record.operation == "enqueue":
            self._queue.append(text)
            self._queued_at[text] = len(self.rows)
        elif record.operation == "popAll":
            self._queue.clear()
        elif self._queue:
            at = self._queue.index(text) if text in self._queue else 0
            text = self._queue.pop(at)
            since = self.rows[self._queued_at.get(text, 0) :]
            is_written = any(row.text == text[:LONGEST_TEXT] for row in since if not row.uuid.startswith("queued "))
            if record.operation == "remove" and text and self.rows and not is_written:
                return queued_row(record, f"queued {record.timestamp} {text[:40]}", self.rows[-1].uuid, text)
        return None

    def _see_row(self, row: Row, record: ChainRecord) -> None:
        if row.text and (self._absorbed or row.uuid.startswith("queued ")):
            self._follow_absorbed(row)
        (self.sidechains if row.is_sidechain and self.place.agent_id is None else self.rows).append(row)
        # Nearly every row repeats these.
        repeated = (record.session_id, record.version, record.git_branch, row.forked_from)
        if repeated != self._repeated:
            self._repeated = repeated
            self._see_repeated(row, record)
        if row.model and row.model != SYNTHETIC:
            self.models[row.model] = None
        if not self.first_typed and row.kind in TURNS and not row.is_sidechain:
            self.first_typed = row.text
        if row.when is not None and not (row.is_sidechain and self.place.agent_id is None):
            if self.first is None or row.when < self.first:
                self.first = row.when
            if self.last is None or row.when > self.last:
                self.last = row.when
        for call in row.calls:
            self._calls.add(call.id)
            if call.agent is not None:
                self._agent_calls.add(call.id)
        if row.results and isinstance(record, User):
            # Only the answers of agents are looked into: what a tool returned is most of the bytes.
            for call_id in row.results:
                is_agents = call_id in self._agent_calls or call_id not in self._calls
                if is_agents and (agent := agent_result(record.tool_use_result).agent_id):
                    self.agents_named[call_id] = agent
        if row.kind is Kind.COMPACTION and not row.is_sidechain:
            self.checkpoint = None

    def _see_repeated(self, row: Row, record: ChainRecord) -> None:
        if record.session_id:
            self.linked[record.session_id] = None
            if self._session_of_rows is None:
                self._session_of_rows = record.session_id
        if row.forked_from and row.forked_from.session_id:
            self.linked[row.forked_from.session_id] = None
        if record.version:
            self.versions[record.version] = None
        if record.git_branch:
            self.branches[record.git_branch] = None

    def _follow_absorbed(self, row: Row) -> None:
        """A prompt from the queue counts until the client writes it after all."""
        if row.uuid.startswith("queued "):
            self._absorbed.append(row)
            return
        for absorbed in self._absorbed:
            if absorbed.text == row.text:
                self._absorbed.remove(absorbed)
                self.rows.remove(absorbed)
                self.withdrawn.append(absorbed.uuid)
                return

    def _see_other(self, record: Record, position: int) -> None:
        if isinstance(record, LastPrompt) and (record.leaf_uuid or record.explicit):
            self.checkpoint = Checkpoint(position, record.leaf_uuid, record.explicit)
        elif isinstance(record, Summary):
            self._summaries.append(record)
        elif isinstance(record, CustomTitle):
            self.custom_title = record.custom_title or self.custom_title
        elif isinstance(record, AiTitle):
            self.ai_title = record.ai_title or self.ai_title
        elif isinstance(record, AgentName):
            self.agent_name = record.agent_name or self.agent_name
        elif isinstance(record, Tag) and record.tag_name:
            self.tags[record.tag_name] = None
        elif isinstance(record, PrLink) and record.pr_url:
            self.pr_links[record.pr_url] = record
        elif isinstance(record, ContinuedIn):
            self.continued_in = record.continued_in_session_id or self.continued_in
            self.linked |= dict.fromkeys([self.continued_in] if self.continued_in else [])
        elif isinstance(record, DerivedFrom):
            self.derived_from = record.session_ids or self.derived_from
            self.linked |= dict.fromkeys(self.derived_from)
        elif isinstance(record, ForkContextRef):
            self.fork_context = record


def queued_row(record: QueueOperation, uuid: str, parent: str | None, text: str) -> Attachment:
    """The row that stands for what was taken from the queue."""
    body = AttachmentBody(type="queued_command", prompt=text)
    return Attachment(
        raw=record.raw, uuid=uuid, parent_uuid=parent, timestamp=record.timestamp, attachment=body
    )  # fmt: skip


def _is_outside(record: ChainRecord) -> bool:
    """Whether it is a record of an unknown type that is not written like a row of the chain."""
    return isinstance(record, UnknownRecord) and record.uuid is None and record.parent_uuid is None
