"""What a line of a session can be: one class for each record type.

The wire names of records. Attributes are the same names in snake case; `also` lists fields that we know of and do
not decode. What stands inside `message` is in `content`; how a line becomes one of these is in `decode`.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, get_args

from msgspec import Meta, Raw, Struct, field

from backscroll.records.content import AssistantMessage, Content, Part, Text, UserMessage

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A moment with its time zone. Rows repeat it after a resume: not an order."""

ABSENT = Raw(b"null")


class Record(Struct, frozen=True, gc=False, kw_only=True, tag_field="type", rename="camel"):
    """One JSON object of a session file. `raw` is the bytes it was decoded from, with what stood before it."""

    raw: bytes = field(default=b"", name="~raw")
    session_id: str | None = None
    timestamp: Timestamp | None = None
    also: ClassVar[frozenset[str]] = frozenset()


class ForkedFrom(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The row that this one is a copy of."""

    session_id: str | None = None
    message_uuid: str | None = None


class ChainRecord(Record, frozen=True, gc=False, kw_only=True):
    """A row of the conversation's tree, linked to the row before it."""

    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    agent_id: str | None = None
    agent_name: str | None = None
    team_name: str | None = None
    prompt_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    entrypoint: str | None = None
    forked_from: ForkedFrom | None = None
    also: ClassVar[frozenset[str]] = frozenset({"userType", "slug", "sessionKind", "session_id"})


class Origin(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Who sent a user row: `human`, `task-notification`, `plugin`, `peer`, `channel` …"""

    kind: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"producer", "runId"})


class User(ChainRecord, frozen=True, gc=False, kw_only=True, tag="user"):
    """A prompt, tool results, or text that the client put into the user's mouth."""

    message: UserMessage | None = None
    # Mostly repeats the result block, at about 41 % of all bytes: left as JSON until somebody looks.
    tool_use_result: Raw = ABSENT
    source_tool_assistant_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_tool_use_id: str | None = field(default=None, name="sourceToolUseID")
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False
    origin: Origin | None = None
    prompt_source: str | None = None
    permission_mode: str | None = None
    interrupted_message_id: str | None = None
    tool_denial_kind: str | None = None
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "imagePasteIds", "mcpMeta", "permissionDecision", "planContent", "queueSkipAttachments", "sandboxed",
        "summarizedTurnPromptUuids", "thinkingMetadata", "todos", "turnCompanion", "turnOrigin", "turnPosition",
    }  # fmt: skip


class Assistant(ChainRecord, frozen=True, gc=False, kw_only=True, tag="assistant"):
    """One block of an API response, or a message that the client made (model `<synthetic>`)."""

    message: AssistantMessage | None = None
    request_id: str | None = None
    is_api_error_message: bool = False
    is_aborted_mid_stream: bool = False
    effort: str | None = None
    cost_usd: float | None = field(default=None, name="costUSD")
    duration_ms: float | None = None
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "apiBlockIndex", "apiError", "apiErrorStatus", "apiErrorType", "attributionAgent", "attributionSkill", "error",
        "errorDetails", "failedResponseHadNoToolCall", "madeBy", "perTurnEffort", "promptCacheRequested",
        "requestRef", "requestedModel", "serverClassifierRequest", "thinkingDisplay", "thinkingDurationMs",
        "toolInputStreamMs",
    }  # fmt: skip


class PreservedSegment(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The rows before a compaction that stay in the context, as a run."""

    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class PreservedMessages(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The rows before a compaction that stay in the context, one by one."""

    anchor_uuid: str | None = None
    uuids: list[str] = field(default_factory=list)
    also: ClassVar[frozenset[str]] = frozenset({"allUuids"})


class CompactMetadata(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Why a conversation was compacted, and what of it stays."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    messages_summarized: int | None = None
    preserved_segment: PreservedSegment | None = None
    preserved_messages: PreservedMessages | None = None
    also: ClassVar[frozenset[str]] = frozenset({
        "cumulativeDroppedTokens", "durationMs", "preCompactDiscoveredTools", "userContext",
    })  # fmt: skip


class System(ChainRecord, frozen=True, gc=False, kw_only=True, tag="system"):
    """What the client did or noticed; `subtype` says which. Most fields belong to one subtype only."""

    subtype: str | None = None
    content: str | None = None
    level: str | None = None
    compact_metadata: CompactMetadata | None = None
    microcompact_metadata: Raw = ABSENT
    duration_ms: float | None = None
    error: Raw = ABSENT
    retry_attempt: float | None = None
    max_retries: float | None = None
    retry_in_ms: float | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")
    hook_count: int | None = None
    hook_infos: Raw = ABSENT
    hook_errors: Raw = ABSENT
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "cause", "commandRun", "hasOutput", "hookAdditionalContext", "hookLabel", "messageCount",
        "pendingBackgroundAgentCount", "preventedContinuation", "stopReason", "writtenPaths",
    }  # fmt: skip


class AttachmentBody(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What sort of attachment it is, of about 93, and for `queued_command` the prompt. For the rest see `fields_of`."""

    type: str | None = None
    prompt: Content | None = None
    free: ClassVar[bool] = True


class Attachment(ChainRecord, frozen=True, gc=False, kw_only=True, tag="attachment"):
    """Something the client put before the model: a file, a reminder, or a prompt typed mid-turn (`queued_command`)."""

    attachment: AttachmentBody | None = None
    also: ClassVar[frozenset[str]] = ChainRecord.also | {"rendered", "renderedBesideToolResult", "renderedRole"}


class ProgressData(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What kind of tool is at work; the rest differs by type."""

    type: str | None = None
    free: ClassVar[bool] = True


class Progress(ChainRecord, frozen=True, gc=False, kw_only=True, tag="progress"):
    """A tool at work (2.1.12 to 2.1.83). Stands in the chain and says nothing: its children go past it."""

    data: ProgressData | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")


class Summary(Record, frozen=True, gc=False, kw_only=True, tag="summary"):
    """The title of the conversation whose leaf it names, mostly in another file. Not a compaction."""

    summary: str | None = None
    leaf_uuid: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"cwd"})


class CustomTitle(Record, frozen=True, gc=False, kw_only=True, tag="custom-title"):
    """The title that the user gave. Repeated; the last one counts, as for all rows like it."""

    custom_title: str | None = None


class AiTitle(Record, frozen=True, gc=False, kw_only=True, tag="ai-title"):
    """The title that the model gave."""

    ai_title: str | None = None


class Tag(Record, frozen=True, gc=False, kw_only=True, tag="tag"):
    """A word that the user put on the session."""

    # "tag" is also how msgspec is told the record type, so the attribute has the long name.
    tag_name: str | None = field(default=None, name="tag")


class LastPrompt(Record, frozen=True, gc=False, kw_only=True, tag="last-prompt"):
    """Where the conversation stood; with `explicit`, that the user went back there."""

    last_prompt: str | None = None
    leaf_uuid: str | None = None
    explicit: bool = False
    rewound: bool = False


class FileBackup(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A copy of a file from before an edit, under `file-history/`; no name means that there was no file."""

    backup_file_name: str | None = None
    version: int | None = None
    backup_time: Timestamp | None = None


class Snapshot(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The copies that belong to one prompt, by path."""

    message_id: str | None = None
    tracked_file_backups: dict[str, FileBackup] = field(default_factory=dict)
    timestamp: Timestamp | None = None


class FileHistorySnapshot(Record, frozen=True, gc=False, kw_only=True, tag="file-history-snapshot"):
    """Which copies of edited files there were at a prompt."""

    message_id: str | None = None
    is_snapshot_update: bool = False
    snapshot: Snapshot | None = None


class FileHistoryDelta(Record, frozen=True, gc=False, kw_only=True, tag="file-history-delta"):
    """A change to such a snapshot."""

    message_id: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"snapshotMessageId", "trackingPath", "backup", "userMessageId"})


class QueueOperation(Record, frozen=True, gc=False, kw_only=True, tag="queue-operation"):
    """A prompt that was typed ahead: put into the queue, taken out, or dropped."""

    operation: str | None = None
    content: Content | None = None
    reason: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"commandUuid", "deliveryId"})

    @property
    def text(self) -> str:
        """What was typed."""
        content = self.content or ""
        if isinstance(content, str):
            return content
        return "\n".join(block.text for block in content if isinstance(block, Text))


class AgentName(Record, frozen=True, gc=False, kw_only=True, tag="agent-name"):
    """The name of the agent that runs this session."""

    agent_name: str | None = None


class AgentColor(Record, frozen=True, gc=False, kw_only=True, tag="agent-color"):
    """The colour that this agent is shown in."""

    agent_color: str | None = None


class AgentSetting(Record, frozen=True, gc=False, kw_only=True, tag="agent-setting"):
    """The kind of agent that runs this session."""

    agent_setting: str | None = None


class Mode(Record, frozen=True, gc=False, kw_only=True, tag="mode"):
    """The mode that the session is in."""

    mode: str | None = None


class PermissionMode(Record, frozen=True, gc=False, kw_only=True, tag="permission-mode"):
    """What the client may do without asking."""

    permission_mode: str | None = None


class PrLink(Record, frozen=True, gc=False, kw_only=True, tag="pr-link"):
    """A pull request that came out of the session."""

    pr_number: int | None = None
    pr_url: str | None = None
    pr_repository: str | None = None


class WorktreeState(Record, frozen=True, gc=False, kw_only=True, tag="worktree-state"):
    """The git worktree that the session works in."""

    worktree_session: Raw = ABSENT


class Replacement(Part, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What stands in the context instead of a tool's output."""

    tool_use_id: str | None = None
    replacement: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"kind"})


class ContentReplacement(Record, frozen=True, gc=False, kw_only=True, tag="content-replacement"):
    """Tool outputs that were taken out of the context to save room."""

    agent_id: str | None = None
    replacements: list[Replacement] = field(default_factory=list)


class AttributionSnapshot(Record, frozen=True, gc=False, kw_only=True, tag="attribution-snapshot"):
    """Who wrote how much of which file."""

    message_id: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({
        "surface", "fileStates", "promptCount", "promptCountAtLastCommit", "permissionPromptCount",
        "permissionPromptCountAtLastCommit", "escapeCount", "escapeCountAtLastCommit",
    })  # fmt: skip


class ForkContextRef(Record, frozen=True, gc=False, kw_only=True, tag="fork-context-ref"):
    """The conversation that a forked agent began with, by reference instead of by copy."""

    agent_id: str | None = None
    parent_session_id: str | None = None
    parent_last_uuid: str | None = None


class Relocated(Record, frozen=True, gc=False, kw_only=True, tag="relocated"):
    """The session went on in another folder."""

    relocated_cwd: str | None = None


class CostState(Record, frozen=True, gc=False, kw_only=True, tag="cost-state"):
    """The client's own running total."""

    total_cost_usd: float | None = field(default=None, name="totalCostUSD")
    model_usage: Raw = ABSENT
    also: ClassVar[frozenset[str]] = frozenset({
        "totalAPIDuration", "totalAPIDurationWithoutRetries", "totalToolDuration", "totalLinesAdded",
        "totalLinesRemoved", "totalDuration", "lastDuration", "hasUnknownModelCost", "startTime",
    })  # fmt: skip


class ContinuedIn(Record, frozen=True, gc=False, kw_only=True, tag="continued-in"):
    """The session that took this one over."""

    continued_in_session_id: str | None = None


class DerivedFrom(Record, frozen=True, gc=False, kw_only=True, tag="derived-from"):
    """The sessions that this one came out of."""

    sessions: list[Any] = field(default_factory=list)

    @property
    def session_ids(self) -> list[str]:
        """Their ids, whether they are written as ids or as objects that have one."""
        found = (item.get("sessionId") if isinstance(item, dict) else item for item in self.sessions)
        return [name for name in found if isinstance(name, str)]


class EndedByModel(Record, frozen=True, gc=False, kw_only=True, tag="ended-by-model"):
    """The model ended the conversation."""


class BridgeSession(Record, frozen=True, gc=False, kw_only=True, tag="bridge-session"):
    """The session is also shown elsewhere."""

    bridge_session_id: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"lastSequenceNum"})


class ToolsUsed(Record, frozen=True, gc=False, kw_only=True, tag="tools-used"):
    """The tools that were offered to the model."""

    also: ClassVar[frozenset[str]] = frozenset({"tools"})


class AtisLatch(Record, frozen=True, gc=False, kw_only=True, tag="atis-latch"):
    """A switch of the client's own."""

    also: ClassVar[frozenset[str]] = frozenset({"atis"})


class ApiRequest(Record, frozen=True, gc=False, kw_only=True, tag="api-request"):
    """A whole request to the API (`api-request`, `api-request-…`): kept in the archive, never shown or searched."""


class UnknownRecord(ChainRecord, frozen=True, gc=False, kw_only=True, tag="backscroll:unknown"):
    """A record of a type that we have not met, with all of its fields. `name` is empty where there is no type.

    It has a place in the chain if it is written like a row of the chain.
    """

    name: str = field(default="", name="~name")
    fields: dict[str, Any] = field(default_factory=dict, name="~fields")


KnownRecord = (
    (User | Assistant | System | Attachment | Progress)
    | (Summary | CustomTitle | AiTitle | Tag | LastPrompt | AgentName | AgentColor | AgentSetting | Mode)
    | (FileHistorySnapshot | FileHistoryDelta | AttributionSnapshot | QueueOperation | ContentReplacement)
    | (PermissionMode | PrLink | WorktreeState | ForkContextRef | Relocated | ContinuedIn | DerivedFrom)
    | (CostState | EndedByModel | BridgeSession | ToolsUsed | AtisLatch | ApiRequest)
)


def type_of(record: Record) -> str:
    """The record's type as it is written on the line; empty where it has none."""
    return record.name if isinstance(record, UnknownRecord) else TYPE_NAMES[type(record)]


TYPE_NAMES: Final[dict[type[Record], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(KnownRecord)}
