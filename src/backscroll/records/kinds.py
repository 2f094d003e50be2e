"""The record types of a session: one class for each, those of the chain here, the others in `outside`.

The wire names of records. Attributes are the wire names in snake case; `also` lists fields that we know of and do not
decode. The contents of `message` are in `content`; `decode` turns a line into a record.
"""

from typing import Any, ClassVar, Final, get_args

from msgspec import Raw, field

from backscroll.records.content import AssistantMessage, Content, RecordPart, UserMessage
from backscroll.records.outside import (
    AgentColor,
    AgentName,
    AgentSetting,
    AiTitle,
    ApiRequest,
    AtisLatch,
    AttributionSnapshot,
    BridgeSession,
    ContentReplacement,
    ContinuedIn,
    CostState,
    CustomTitle,
    DerivedFrom,
    EndedByModel,
    FileHistoryDelta,
    FileHistorySnapshot,
    ForkContextRef,
    LastPrompt,
    Mode,
    PermissionMode,
    PrLink,
    QueueOperation,
    Relocated,
    Summary,
    Tag,
    ToolsUsed,
    WorktreeState,
)
from backscroll.records.record import ABSENT, Branch, Id, Label, Record


class ForkedFrom(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The row that this one is a copy of."""

    session_id: Id | None = None
    message_uuid: Id | None = None


class ChainRecord(Record, frozen=True, gc=False, kw_only=True):
    """A row of the conversation's tree, linked to the row before it."""

    uuid: Id | None = None
    parent_uuid: Id | None = None
    logical_parent_uuid: Id | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    agent_id: Id | None = None
    agent_name: str | None = None
    team_name: str | None = None
    prompt_id: Id | None = None
    cwd: str | None = None
    version: Label | None = None
    git_branch: Branch | None = None
    entrypoint: str | None = None
    forked_from: ForkedFrom | None = None
    also: ClassVar[frozenset[str]] = frozenset({"originalCwd", "userType", "slug", "sessionKind", "session_id"})


class Origin(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The sender of a user row: `human`, `task-notification`, `plugin`, `peer`, `channel` …"""

    kind: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"producer", "runId"})


class User(ChainRecord, frozen=True, gc=False, kw_only=True, tag="user"):
    """A prompt, tool results, or text that the client wrote in the user's name."""

    message: UserMessage | None = None
    # Mostly repeats the result block, at about 41 % of all bytes: kept as JSON until needed.
    tool_use_result: Raw = ABSENT
    source_tool_assistant_uuid: Id | None = field(default=None, name="sourceToolAssistantUUID")
    source_tool_use_id: Id | None = field(default=None, name="sourceToolUseID")
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False
    origin: Origin | None = None
    prompt_source: str | None = None
    permission_mode: str | None = None
    interrupted_message_id: Id | None = None
    tool_denial_kind: str | None = None
    """Reason why a tool has no result of its own: `user-rejected`, `permission-rule`, `interrupted`, `cancelled`."""
    tool_denial_before_run: bool = False
    """Whether the tool had not begun. A tool that had begun was interrupted, whatever the kind says."""
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "imagePasteIds", "isAtMentionRead", "mcpMeta", "permissionDecision", "planContent", "queueSkipAttachments",
        "queueTranscriptOnly", "refusedMessageId", "sandboxed", "summarizeMetadata", "summarizedTurnPromptUuids",
        "thinkingMetadata", "toolDenialAfterRun", "toolDenialEndsTurn", "toolDenialFromHost",
        "toolDenialMonitorBlocked", "toolDenialUnanswered", "toolEndsTurn", "toolResultRemedy",
        "toolResultTypedCommand", "todos", "turnCompanion", "turnOrigin", "turnPosition",
    }  # fmt: skip


class Assistant(ChainRecord, frozen=True, gc=False, kw_only=True, tag="assistant"):
    """One block of an API response, or a message that the client made (model `<synthetic>`)."""

    message: AssistantMessage | None = None
    request_id: Id | None = None
    is_api_error_message: bool = False
    is_aborted_mid_stream: bool = False
    effort: str | None = None
    cost_usd: float | None = field(default=None, name="costUSD")
    duration_ms: float | None = None
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "apiBlockIndex", "apiError", "apiErrorStatus", "apiErrorType", "attributionAgent", "attributionSkill", "error",
        "errorDetails", "failedResponseHadNoToolCall", "madeBy", "model", "perTurnEffort", "promptCacheRequested",
        "requestRef", "requestSessionId", "requestedModel", "serverClassifierRequest", "thinkingDisplay",
        "thinkingDurationMs", "toolInputStreamMs",
    }  # fmt: skip


class PreservedSegment(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The rows before a compaction that stay in the context, as a run."""

    head_uuid: Id | None = None
    anchor_uuid: Id | None = None
    tail_uuid: Id | None = None


class PreservedMessages(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The rows before a compaction that stay in the context, one by one."""

    anchor_uuid: Id | None = None
    uuids: list[Id] = field(default_factory=list)
    also: ClassVar[frozenset[str]] = frozenset({"allUuids"})


class CompactMetadata(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The reason for a compaction, and the rows that stay in the context."""

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
    """An event that the client recorded; `subtype` is its kind. Most fields belong to one subtype only."""

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
    tool_use_id: Id | None = field(default=None, name="toolUseID")
    hook_count: int | None = None
    hook_infos: Raw = ABSENT
    hook_errors: Raw = ABSENT
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "cause", "commandRun", "hasOutput", "hookAdditionalContext", "hookLabel", "messageCount",
        "pendingBackgroundAgentCount", "preventedContinuation", "source", "stopReason", "writtenPaths",
    }  # fmt: skip


class AttachmentBody(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The sort of an attachment, one of about 93, and the prompt of a `queued_command`. For others see `fields_of`."""

    type: str | None = None
    prompt: Content | None = None
    origin: Origin | None = None
    command_mode: str | None = None
    free: ClassVar[bool] = True


class Attachment(ChainRecord, frozen=True, gc=False, kw_only=True, tag="attachment"):
    """Something the client added for the model: a file, a reminder, or a prompt typed mid-turn (`queued_command`)."""

    attachment: AttachmentBody | None = None
    also: ClassVar[frozenset[str]] = ChainRecord.also | {
        "rendered", "renderedBesideToolResult", "renderedInHumanTurn", "renderedRole",
    }  # fmt: skip


class ProgressData(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The kind of tool that is running; the other fields depend on it."""

    type: str | None = None
    message: Raw = ABSENT
    """The row of the sub-agent in `agent_progress`; see `agent_row`."""
    agent_id: Id | None = None
    free: ClassVar[bool] = True


class ProgressRecord(ChainRecord, frozen=True, gc=False, kw_only=True, tag="progress"):
    """A running tool (2.1.9 to 2.1.83). Part of the chain but without content: its children skip it.

    The record of an agent repeats a row of the agent: see `agent_row`.
    """

    data: ProgressData | None = None
    tool_use_id: Id | None = field(default=None, name="toolUseID")
    parent_tool_use_id: Id | None = field(default=None, name="parentToolUseID")


class UnknownRecord(ChainRecord, frozen=True, gc=False, kw_only=True, tag="backscroll:unknown"):
    """A record of an unknown type, with all of its fields. `name` is empty if it has no type.

    It has a place in the chain if it is written like a row of the chain.
    """

    name: str = field(default="", name="~name")
    fields: dict[str, Any] = field(default_factory=dict, name="~fields")


KnownRecord = (
    (User | Assistant | System | Attachment | ProgressRecord)
    | (Summary | CustomTitle | AiTitle | Tag | LastPrompt | AgentName | AgentColor | AgentSetting | Mode)
    | (FileHistorySnapshot | FileHistoryDelta | AttributionSnapshot | QueueOperation | ContentReplacement)
    | (PermissionMode | PrLink | WorktreeState | ForkContextRef | Relocated | ContinuedIn | DerivedFrom)
    | (CostState | EndedByModel | BridgeSession | ToolsUsed | AtisLatch | ApiRequest)
)


def type_of(record: Record) -> str:
    """Return the record's type as written on the line; empty if it has none."""
    return record.name if isinstance(record, UnknownRecord) else TYPE_NAMES[type(record)]


TYPE_NAMES: Final[dict[type[Record], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(KnownRecord)}
