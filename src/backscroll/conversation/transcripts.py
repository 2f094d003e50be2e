"""One transcript: the rows of one file in their order, and the file's statements about itself.

Records are added as they come. `chats` combines several transcripts.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from backscroll.conversation.kinds import TURNS, RowKind, plain_title
from backscroll.conversation.preserved import Preserved
from backscroll.conversation.queue import Queue, queued_row
from backscroll.conversation.roots import Roots
from backscroll.conversation.rows import LONGEST_TEXT, Row, start_of
from backscroll.conversation.titles import FAILED, is_title, title_of_prompt
from backscroll.conversation.usage import SYNTHETIC
from backscroll.records.kinds import (
    Assistant,
    Attachment,
    ChainRecord,
    ProgressRecord,
    UnknownRecord,
    User,
)
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
from backscroll.records.tools import WORKFLOW_TOOL, agent_result, agent_row


class TranscriptPlace(NamedTuple):
    """The file of a transcript: `file` is any text that is unique, on all machines."""

    file: str
    session_id: str | None
    agent_id: str | None = None
    origin: str | None = None
    """Path of the file. Rows without a uuid are named after it, equally in all versions and on all machines."""
    path: str | None = None
    """The path for display; an earlier version has its number appended."""

    @property
    def workflow_run(self) -> str | None:
        """The run of the workflow that the agent belongs to: the folder of its file is named after it."""
        *_, above, run, _ = ("", "", *re.split(r"[/\\]", self.name))
        return run if self.agent_id is not None and above == "workflows" else None

    @property
    def name(self) -> str:
        """The file name, as a last resort."""
        return self.path or self.file


class Checkpoint(NamedTuple):
    """The last position in the conversation that the client recorded."""

    position: int
    leaf: str | None
    explicit: bool


class ToldAgent(NamedTuple):
    """An agent whose rows the progress rows of a transcript repeat."""

    first: str
    """Uuid of the agent's first row."""
    last: str
    call: str | None
    """The call that started the agent."""


class Workflow(NamedTuple):
    """A script that starts agents."""

    call: str
    """The call that started the script."""
    name: str | None


TITLES: Final = ("agent_name", "title_beside", "custom_title", "ai_title")
"""Attributes that can have the title of a session, in order of preference."""


class Repeated(NamedTuple):
    """An agent's record that a progress row repeats, as in the agent's own file, and its row."""

    position: int
    record: User | Assistant
    row: Row
    call: str | None
    """The call that started the agent."""


NO_ROW: Final = "00000000-0000-0000-0000-000000000000"
"""Stands for no row in 2.1.325 and later."""


class Transcript:
    """A session's own file, or an agent's."""

    def __init__(self, place: TranscriptPlace, *, keep: bool = False, meta: AgentMeta | None = None) -> None:
        self.place = place
        self.is_elsewhere = False
        """Whether this is a file of another machine."""
        self.meta = meta
        self.rows: list[Row] = []
        self.sidechains: list[Row] = []
        """Rows of sub-agents without a file of their own: among the session's, as up to 2.0.20, or in progress rows."""
        self.repeated: list[Repeated] = []
        """Rows of agents that the progress rows among the last added records repeat."""
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
        self.workflows: dict[str, Workflow] = {}
        """The workflows that were started, by the names of their runs."""
        self.agents_told: dict[str, ToldAgent] = {}
        """The agents in progress rows, by their ids."""
        self.linked: dict[str, None] = {place.session_id: None} if place.session_id else {}
        """Sessions that this one has rows of, was derived from, or continues in."""
        self.first_typed = ""
        self.withdrawn: list[str] = []
        """Withdrawn rows: everything derived from them must be rebuilt."""
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
        """Position at which each text in the queue was typed last."""
        self._said: dict[str, int] | None = None
        """Position of the last row with each text; computed on first use."""
        self._absorbed: dict[str, deque[Row]] = {}
        """The rows that represent a queued prompt, by its text."""
        self._agent_calls: set[str] = set()
        self._calls: set[str] = set()
        self.roots = Roots()
        self.preserved: dict[str, Preserved] = {}
        """The rows that its compactions left in the context."""

    @property
    def is_fork(self) -> bool:
        """Whether the file begins with copies of another session's rows."""
        return bool(self.rows) and self.rows[0].forked_from is not None

    @property
    def own_title(self) -> str | None:
        """The session's own title, if it has one."""
        titles = (getattr(self, name) for name in TITLES)
        return next((plain_title(title) for title in titles if title), None)

    @property
    def title(self) -> str:
        """The session's own title, or else its first prompt."""
        return self.own_title or title_of_prompt(plain_title(self.first_typed), LONGEST_TEXT)

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
        self.repeated = []
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
                if row.kind is RowKind.PROGRESS and (repeated_record := agent_row(record)) is not None:
                    self._see_agent(repeated_record, position, record)
            else:
                self._see_other(record, position)
                added.append(None)
        return added

    def take_summaries(self) -> list[Summary]:
        """Take the titles of conversations that were added since the last call."""
        taken, self._summaries = self._summaries, []
        return taken

    def _see_queue(self, record: QueueOperation) -> Attachment | None:
        """Follow the prompts that were typed while the model was at work.

        Some versions write no row for a prompt taken from the queue in the middle of a turn: then this is its only
        record, and becomes the attachment that later versions write.
        """
        text = record.text
        if record.operation == "enqueue":
            self._queue.append(text)
            self._queued_at[text] = self.position
        elif record.operation == "popAll":
            self._queue.clear()
            self._queued_at.clear()
        elif self._queue:
            text = self._queue.take(text)
            is_written = self._last_said(start_of(text)) >= self._queued_at.get(text, 0)
            if text not in self._queue:
                self._queued_at.pop(text, None)
            if record.is_for_model and text and self.rows and not is_written:
                return queued_row(record, f"queued {record.timestamp} {text[:40]}", self.rows[-1].uuid, text)
        return None

    def _last_said(self, text: str) -> int:
        """Return the position of the last row with this text, -1 if there is none."""
        if self._said is None:
            self._said = {row.text: row.position for row in self.rows if not row.uuid.startswith("queued ")}
        return self._said.get(text, -1)

    def _see_row(self, row: Row, record: ChainRecord) -> None:
        if row.text and (self._absorbed or row.uuid.startswith("queued ")):
            self._follow_absorbed(row)
        is_beside = row.is_sidechain and self.place.agent_id is None
        if row.preserved is not None and not is_beside:
            self.preserved[row.uuid] = row.preserved
            if row.preserved.anchor == row.uuid and self.rows:
                # The summarised rows come after the preserved ones, and were not taken back.
                row.parent = self.rows[-1].uuid
        if not is_beside and (row.parent is None or self.roots.are_several):
            self.roots.see(row, record.prompt_id, self.rows, went_back=self._went_back())
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
        self._see_calls(row, record)
        if row.kind is RowKind.COMPACTION and not row.is_sidechain:
            self.checkpoint = None

    def _see_calls(self, row: Row, record: ChainRecord) -> None:
        for call in row.calls:
            self._calls.add(call.id)
            if call.agent is not None or call.name == WORKFLOW_TOOL:
                self._agent_calls.add(call.id)
        if row.results and isinstance(record, User):
            # Decode only the answers of agents: tool results are most of the bytes.
            named = [call for call in row.results if call in self._agent_calls or call not in self._calls]
            result = agent_result(record.tool_use_result) if named else None
            if result is not None and result.agent_id:
                self.agents_named |= dict.fromkeys(named, result.agent_id)
            if result is not None and result.run_id:
                self.workflows[result.run_id] = Workflow(named[0], result.workflow_name)

    def _see_agent(self, record: User | Assistant, position: int, progress: ChainRecord) -> None:
        """Follow an agent in progress rows: each of its rows answers the one before it."""
        name = record.agent_id or ""
        known = self.agents_told.get(name)
        record = replace(record, parent_uuid=known.last if known else None)
        row = Row(record, self.place.file, position, keep=self._keep, origin=self.place.origin)
        call = progress.parent_tool_use_id if isinstance(progress, ProgressRecord) else None
        call = known.call if known else call
        self.agents_told[name] = ToldAgent(known.first if known else row.uuid, row.uuid, call)
        self.sidechains.append(row)
        self.repeated.append(Repeated(position, record, row, call))
        if row.model and row.model != SYNTHETIC:
            self.models[row.model] = None
        self._see_calls(row, record)

    def _went_back(self) -> bool:
        """Whether the user has gone back to the very beginning, and nothing came since."""
        there = self.checkpoint
        is_beginning = there is not None and there.explicit and there.leaf is None
        return is_beginning and bool(self.rows) and there is not None and self.rows[-1].position < there.position

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
        """Withdraw the row of a queued prompt when the client writes the prompt after all."""
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

    @staticmethod
    def _title(text: str | None) -> str | None:
        """Return a title that a user may have typed: any text but a failed title, which a fork takes over."""
        return text if text and not FAILED.match(text) else None

    def _see_other(self, record: Record, position: int) -> None:
        if isinstance(record, LastPrompt) and (record.leaf_uuid or record.explicit):
            self.checkpoint = Checkpoint(position, record.leaf_uuid, record.explicit)
            if record.explicit and record.leaf_uuid in (None, NO_ROW):
                self.roots.went_back(self.rows)
        elif isinstance(record, Summary):
            if is_title(plain_title(record.summary or "")):
                self._summaries.append(record)
        elif isinstance(record, CustomTitle):
            self.custom_title = self._title(record.custom_title) or self.custom_title
        elif isinstance(record, AiTitle):
            self.ai_title = record.ai_title if is_title(plain_title(record.ai_title or "")) else self.ai_title
        elif isinstance(record, AgentName):
            self.agent_name = self._title(record.agent_name) or self.agent_name
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


def _is_outside(record: ChainRecord) -> bool:
    """Whether a record is of an unknown type and not written like a row of the chain."""
    return isinstance(record, UnknownRecord) and record.uuid is None and record.parent_uuid is None
