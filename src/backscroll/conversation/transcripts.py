"""One transcript: the rows of one file in their order, and what the file says about itself.

Takes records as they come. What several transcripts make together is the business of `chats`.
"""

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from backscroll.conversation.kinds import TURNS, RowKind, plain_title
from backscroll.conversation.rows import LONGEST_TEXT, Row
from backscroll.conversation.titles import is_title
from backscroll.conversation.usage import SYNTHETIC
from backscroll.records.kinds import Attachment, AttachmentBody, ChainRecord, UnknownRecord, User
from backscroll.records.outside import (
    AgentName,
    AiTitle,
    ContinuedIn,
    CustomTitle,
    DerivedFrom,
    ForkContextRef,
    LastPrompt,
    PrLink,
    QueueOperation,
    Summary,
    Tag,
)
from backscroll.records.project import ProjectFinder
from backscroll.records.record import Record
from backscroll.records.sidecars import AgentMeta
from backscroll.records.tools import agent_result


class TranscriptPlace(NamedTuple):
    """The file of a transcript: `file` is any text that is unique, on all machines."""

    file: str
    session_id: str | None
    agent_id: str | None = None
    origin: str | None = None
    """Its path. Rows without a uuid are named after it, so they are the same in all versions and on all machines."""
    path: str | None = None
    """The path for display; an earlier version has its number appended."""

    @property
    def name(self) -> str:
        """The file name, as a last resort."""
        return self.path or self.file


class Checkpoint(NamedTuple):
    """The last position in the conversation that the client recorded."""

    position: int
    leaf: str | None
    explicit: bool


class Queue:
    """The prompts that were typed and not yet taken, in order."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._numbers: dict[str, deque[int]] = {}
        self._next = 0
        for text in texts:
            self.append(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts.values())

    def __len__(self) -> int:
        return len(self._texts)

    def append(self, text: str) -> None:
        """Append a prompt."""
        self._texts[self._next] = text
        self._numbers.setdefault(text, deque()).append(self._next)
        self._next += 1

    def take(self, text: str) -> str:
        """Take the first prompt with this text, or else the first of all."""
        number = self._numbers[text][0] if text in self._numbers else next(iter(self._texts))
        taken = self._texts.pop(number)
        self._numbers[taken].popleft()  # always the first of those that say the same
        if not self._numbers[taken]:
            del self._numbers[taken]
        return taken

    def clear(self) -> None:
        """Take all prompts."""
        self._texts.clear()
        self._numbers.clear()


class Transcript:
    """A session's own file, or an agent's."""

    def __init__(self, place: TranscriptPlace, *, keep: bool = False, meta: AgentMeta | None = None) -> None:
        self.place = place
        self.meta = meta
        self.rows: list[Row] = []
        self.sidechains: list[Row] = []
        """Rows of sub-agents inside a session's own file, as up to 2.0.20."""
        self.title_beside: str | None = None
        """The user's title, if it is in a separate file."""
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
        """The agent that answered a call: call id → agent id."""
        self.linked: dict[str, None] = {place.session_id: None} if place.session_id else {}
        """Sessions that this one has rows of, was derived from, or continues in."""
        self.first_typed = ""
        self.withdrawn: list[str] = []
        """The rows that were withdrawn: what was derived from them must be rebuilt."""
        self.first: datetime | None = None
        self.last: datetime | None = None
        self._finder = ProjectFinder()
        self._session_of_rows: str | None = None
        self._repeated: tuple[object, ...] = ()
        self._keep = keep
        self.position = 0
        """The number of records added."""
        self._queue = Queue()
        self._queued_at: dict[str, int] = {}
        self._said: dict[str, int] | None = None
        """The last row with each text; computed on first use."""
        self._absorbed: dict[str, deque[Row]] = {}
        """The rows that represent a queued prompt, by its text."""
        self._agent_calls: set[str] = set()
        self._calls: set[str] = set()

    @property
    def project(self) -> str | None:
        """The working directory, from the rows."""
        return self._finder.path

    @property
    def session_id(self) -> str | None:
        """The session that the file is or belongs to, from its name, or else from its rows."""
        return self.place.session_id or self._session_of_rows

    def add(self, records: Iterable[Record]) -> list[Row | None]:
        """Add records; return the row of each, None if it is not a row of the conversation."""
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
                record = queued  # it represents a row that the client did not write
            if isinstance(record, ChainRecord) and not _is_outside(record):
                row = Row(record, self.place.file, position, keep=self._keep, origin=self.place.origin)
                self._see_row(row, record)
                added.append(row)
            else:
                self._see_other(record, position)
                added.append(None)
        return added

    def take_summaries(self) -> list[Summary]:
        """Take the titles of conversations that were added since the last call."""
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
            self._queued_at[text] = self.position
        elif record.operation == "popAll":
            self._queue.clear()
        elif self._queue:
            text = self._queue.take(text)
            is_written = self._last_said(text[:LONGEST_TEXT]) >= self._queued_at.get(text, 0)
            if record.operation == "remove" and text and self.rows and not is_written:
                return queued_row(record, f"queued {record.timestamp} {text[:40]}", self.rows[-1].uuid, text)
        return None

    def _last_said(self, text: str) -> int:
        """The position of the last row that says this, -1 if there is none."""
        if self._said is None:
            self._said = {row.text: row.position for row in self.rows if not row.uuid.startswith("queued ")}
        return self._said.get(text, -1)

    def _see_row(self, row: Row, record: ChainRecord) -> None:
        if row.text and (self._absorbed or row.uuid.startswith("queued ")):
            self._follow_absorbed(row)
        is_beside = row.is_sidechain and self.place.agent_id is None
        (self.sidechains if is_beside else self.rows).append(row)
        if self._said is not None and not is_beside and not row.uuid.startswith("queued "):
            self._said[row.text] = row.position
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
            named = [call for call in row.results if call in self._agent_calls or call not in self._calls]
            if named and (agent := agent_result(record.tool_use_result).agent_id):
                self.agents_named |= dict.fromkeys(named, agent)
        if row.kind is RowKind.COMPACTION and not row.is_sidechain:
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
            self._absorbed.setdefault(row.text, deque()).append(row)
            return
        absorbed = self._absorbed.get(row.text)
        if absorbed is None:
            return
        gone = absorbed.popleft()
        if not absorbed:
            del self._absorbed[row.text]
        at = bisect_left(self.rows, gone.position, key=lambda other: other.position)
        if at < len(self.rows) and self.rows[at] is gone:
            del self.rows[at]
        self.withdrawn.append(gone.uuid)

    def _see_other(self, record: Record, position: int) -> None:
        if isinstance(record, LastPrompt) and (record.leaf_uuid or record.explicit):
            self.checkpoint = Checkpoint(position, record.leaf_uuid, record.explicit)
        elif isinstance(record, Summary):
            if is_title(plain_title(record.summary or "")):
                self._summaries.append(record)
        elif isinstance(record, CustomTitle):
            self.custom_title = record.custom_title or self.custom_title
        elif isinstance(record, AiTitle):
            self.ai_title = record.ai_title if is_title(plain_title(record.ai_title or "")) else self.ai_title
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
    """The row that represents a prompt taken from the queue."""
    body = AttachmentBody(type="queued_command", prompt=text)
    return Attachment(
        raw=record.raw, uuid=uuid, parent_uuid=parent, timestamp=record.timestamp, attachment=body
    )  # fmt: skip


def _is_outside(record: ChainRecord) -> bool:
    """Whether it is a record of an unknown type that is not written like a row of the chain."""
    return isinstance(record, UnknownRecord) and record.uuid is None and record.parent_uuid is None
