"""A transcript as plain data, to be stored and continued later.

A restored transcript continues exactly as if all of its records had just been read.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, field
from msgspec.json import Decoder, encode

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.preserved import Preserved
from backscroll.conversation.queue import Queue
from backscroll.conversation.rows import Row, RowCall
from backscroll.conversation.transcripts import Checkpoint, ToldAgent, Transcript, TranscriptPlace, Workflow
from backscroll.records.kinds import ForkedFrom
from backscroll.records.outside import ForkContextRef, PrLink
from backscroll.records.sidecars import AgentMeta
from backscroll.records.tools import WORKFLOW_TOOL


class SavedTranscript(Struct, kw_only=True, omit_defaults=True):
    """The state of a transcript apart from its rows."""

    position: int = 0
    meta: AgentMeta | None = None
    title_beside: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    agent_name: str | None = None
    tags: list[str] = field(default_factory=list)
    pull_requests: list[PrLink] = field(default_factory=list)
    checkpoint: tuple[int, str | None, bool] | None = None
    continued_in: str | None = None
    derived_from: list[str] = field(default_factory=list)
    fork_context: ForkContextRef | None = None
    versions: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    agents_named: dict[str, str] = field(default_factory=dict)
    agents_told: dict[str, tuple[str, str, str | None]] = field(default_factory=dict)
    workflows: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    linked: list[str] = field(default_factory=list)
    first_typed: str = ""
    first: datetime | None = None
    last: datetime | None = None
    cwd: str | None = None
    relocated: str | None = None
    session_of_rows: str | None = None
    queue: list[str] = field(default_factory=list)
    queued_at: dict[str, int] = field(default_factory=dict)
    absorbed: list[str] = field(default_factory=list)
    last_root: str | None = None
    previous_root: str | None = None
    roots: dict[str, str] = field(default_factory=dict)
    instead_of: dict[str, str] = field(default_factory=dict)
    has_several_roots: bool = False
    is_repeated: bool = False
    preserved: dict[str, Preserved] = field(default_factory=dict)


def save(transcript: Transcript) -> bytes:
    """Encode a transcript without its rows."""
    checkpoint = transcript.checkpoint
    return encode(
        SavedTranscript(
            position=transcript.position,
            meta=transcript.meta,
            title_beside=transcript.title_beside,
            custom_title=transcript.custom_title,
            ai_title=transcript.ai_title,
            agent_name=transcript.agent_name,
            tags=list(transcript.tags),
            pull_requests=[
                PrLink(pr_number=link.pr_number, pr_url=link.pr_url, pr_repository=link.pr_repository)
                for link in transcript.pr_links.values()
            ],
            checkpoint=(checkpoint.position, checkpoint.leaf, checkpoint.explicit) if checkpoint else None,
            continued_in=transcript.continued_in,
            derived_from=transcript.derived_from,
            fork_context=_light(transcript.fork_context),
            versions=list(transcript.versions),
            branches=list(transcript.branches),
            models=list(transcript.models),
            agents_named=transcript.agents_named,
            workflows={run: (workflow.call, workflow.name) for run, workflow in transcript.workflows.items()},
            agents_told={name: (agent.first, agent.last, agent.call) for name, agent in transcript.agents_told.items()},
            linked=list(transcript.linked),
            first_typed=transcript.first_typed,
            first=transcript.first,
            last=transcript.last,
            cwd=transcript._finder.first,
            relocated=transcript._finder.relocated,
            session_of_rows=transcript._session_of_rows,
            queue=list(transcript._queue),
            queued_at=transcript._queued_at,
            absorbed=[row.uuid for rows in transcript._absorbed.values() for row in rows],
            last_root=transcript.roots.last,
            previous_root=transcript.roots.previous,
            roots=transcript.roots.by_prompt_id,
            instead_of=transcript.roots.replaced,
            has_several_roots=transcript.roots.are_several,
            is_repeated=transcript.roots.is_repeated,
            preserved=transcript.preserved,
        )
    )


def saved_row(
    file: str,
    position: int,
    uuid: str,
    parent: str | None,
    kind: str,
    when: datetime | None,
    is_sidechain: bool,
    message_id: str | None,
    model: str | None,
    text: str,
    results: tuple[str, ...],
    failed: tuple[str, ...],
    calls: tuple[RowCall, ...],
    forked_session: str | None,
    forked_uuid: str | None,
) -> Row:
    """Return a row without the parts that only a reader needs."""
    row = Row.__new__(Row)
    row.uuid = uuid
    row.transcript = file
    row.position = position
    row.kind = KINDS[kind]
    row.when = when
    row.is_sidechain = is_sidechain
    row.is_elsewhere = False
    row.forked_from = None
    if forked_session or forked_uuid:
        row.forked_from = ForkedFrom(session_id=forked_session, message_uuid=forked_uuid)
    row.record = None
    row.parent = parent
    row.instead_of = None
    row.preserved = None
    row.message_id = message_id
    row.model = model
    row.usage = None
    row.calls = calls
    row.results = results
    row.failed = failed
    row.text = text
    return row


def restore(place: TranscriptPlace, saved: bytes, rows: Iterable[Row]) -> Transcript:
    """Return the transcript as it was saved, with its rows in their order."""
    known = DECODER.decode(saved)
    transcript = Transcript(place, meta=known.meta)
    transcript.position = known.position
    transcript.title_beside = known.title_beside
    transcript.custom_title = known.custom_title
    transcript.ai_title = known.ai_title
    transcript.agent_name = known.agent_name
    transcript.tags = dict.fromkeys(known.tags)
    transcript.pr_links = {link.pr_url: link for link in known.pull_requests if link.pr_url}
    transcript.checkpoint = Checkpoint(*known.checkpoint) if known.checkpoint else None
    transcript.continued_in = known.continued_in
    transcript.derived_from = known.derived_from
    transcript.fork_context = known.fork_context
    transcript.versions = dict.fromkeys(known.versions)
    transcript.branches = dict.fromkeys(known.branches)
    transcript.models = dict.fromkeys(known.models)
    transcript.agents_named = known.agents_named
    transcript.workflows = {run: Workflow(*fields) for run, fields in known.workflows.items()}
    transcript.agents_told = {name: ToldAgent(*agent) for name, agent in known.agents_told.items()}
    transcript.linked = dict.fromkeys(known.linked)
    transcript.first_typed = known.first_typed
    transcript.first = known.first
    transcript.last = known.last
    transcript._finder.first = known.cwd
    transcript._finder.relocated = known.relocated
    transcript._session_of_rows = known.session_of_rows
    transcript._queue = Queue(known.queue)
    # Earlier versions saved the texts that were taken, too.
    transcript._queued_at = {text: at for text, at in known.queued_at.items() if text in transcript._queue}
    transcript.roots.last = known.last_root
    transcript.roots.previous = known.previous_root
    transcript.roots.by_prompt_id = known.roots
    transcript.roots.replaced = known.instead_of
    transcript.roots.are_several = known.has_several_roots
    transcript.roots.is_repeated = known.is_repeated
    transcript.preserved = known.preserved
    position = -1
    for row in rows:
        row.preserved = known.preserved.get(row.uuid) if row.kind is RowKind.COMPACTION else None
        row.instead_of = known.instead_of.get(row.uuid) if row.parent is None else None
        is_beside = row.is_sidechain and (place.agent_id is None or row.position == position)
        position = row.position  # rows repeated from an agent have the position of their progress row
        (transcript.sidechains if is_beside else transcript.rows).append(row)
        for call in row.calls:
            transcript._calls.add(call.id)
            if call.agent is not None or call.name == WORKFLOW_TOOL:
                transcript._agent_calls.add(call.id)
    absorbed = set(known.absorbed)
    for row in transcript.rows if absorbed else ():
        if row.uuid in absorbed:
            transcript._absorbed.setdefault(row.text, deque()).append(row)
    return transcript


def _light(context: ForkContextRef | None) -> ForkContextRef | None:
    """Return a copy without the bytes that it was read from."""
    if context is None:
        return None
    return ForkContextRef(
        agent_id=context.agent_id,
        parent_session_id=context.parent_session_id,
        parent_last_uuid=context.parent_last_uuid,
    )


DECODER = Decoder(SavedTranscript)
KINDS = {str(kind): kind for kind in RowKind}
