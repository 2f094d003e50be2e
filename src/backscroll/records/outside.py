"""Rows outside the chain of a conversation: titles, checkpoints, snapshots, links, and the client's own notes.

Most are repeated through a file, and the last one counts. Written like `kinds`, which holds the rows of the chain.
"""

from typing import Any, ClassVar

import msgspec
from msgspec import Raw, field

from backscroll.records.content import Content, RecordPart, Text
from backscroll.records.record import ABSENT, Id, Record, Timestamp


class Summary(Record, frozen=True, gc=False, kw_only=True, tag="summary"):
    """The title of the conversation whose leaf it names, mostly in another file. Not a compaction."""

    summary: str | None = None
    leaf_uuid: Id | None = None
    also: ClassVar[frozenset[str]] = frozenset({"cwd"})


class CustomTitle(Record, frozen=True, gc=False, kw_only=True, tag="custom-title"):
    """The title from the user. Repeated; the last one counts, as for all rows like it."""

    custom_title: str | None = None


class AiTitle(Record, frozen=True, gc=False, kw_only=True, tag="ai-title"):
    """The title from the model."""

    ai_title: str | None = None


class Tag(Record, frozen=True, gc=False, kw_only=True, tag="tag"):
    """A tag that the user put on the session."""

    # msgspec uses "tag" for the record type, so the attribute has the long name.
    tag_name: str | None = field(default=None, name="tag")


class LastPrompt(Record, frozen=True, gc=False, kw_only=True, tag="last-prompt"):
    """The current position in the conversation; `explicit` if the user went back there."""

    last_prompt: str | None = None
    leaf_uuid: Id | None = None
    explicit: bool = False
    rewound: bool = False


class FileBackup(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A copy of a file from before an edit, under `file-history/`; no name means that there was no file."""

    backup_file_name: str | None = None
    version: int | None = None
    backup_time: Timestamp | None = None


class FileSnapshot(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The copies that belong to one prompt, by path."""

    message_id: Id | None = None
    tracked_file_backups: dict[str, FileBackup] = field(default_factory=dict)
    timestamp: Timestamp | None = None
    also: ClassVar[frozenset[str]] = frozenset({"hasUntrackedChanges"})


class FileHistorySnapshot(Record, frozen=True, gc=False, kw_only=True, tag="file-history-snapshot"):
    """The copies of edited files at a prompt."""

    message_id: Id | None = None
    is_snapshot_update: bool = False
    snapshot: FileSnapshot | None = None


class FileHistoryDelta(Record, frozen=True, gc=False, kw_only=True, tag="file-history-delta"):
    """A change to a snapshot of edited files."""

    message_id: Id | None = None
    also: ClassVar[frozenset[str]] = frozenset({"snapshotMessageId", "trackingPath", "backup", "userMessageId"})


class QueueOperation(Record, frozen=True, gc=False, kw_only=True, tag="queue-operation"):
    """A prompt typed ahead was queued, taken from the queue, or dropped."""

    operation: str | None = None
    content: Content | None = None
    reason: str | None = None
    """Reason why the prompt was removed from the queue; see `is_for_model`."""
    also: ClassVar[frozenset[str]] = frozenset({"commandUuid", "deliveryId"})

    @property
    def is_for_model(self) -> bool:
        """Whether the prompt was removed because the model got it. Else it went to an agent, or nowhere."""
        return self.operation == "remove" and self.reason in (None, "absorbed_mid_turn")

    @property
    def text(self) -> str:
        """Text of the prompt."""
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
    """The actions that the client may take without asking."""

    permission_mode: str | None = None


class PrLink(Record, frozen=True, gc=False, kw_only=True, tag="pr-link"):
    """A pull request created in the session."""

    pr_number: int | None = None
    pr_url: str | None = None
    pr_repository: str | None = None


class WorktreeState(Record, frozen=True, gc=False, kw_only=True, tag="worktree-state"):
    """The git worktree that the session works in."""

    worktree_session: Raw = ABSENT


class OutputReplacement(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The text that replaces a tool's output in the context."""

    tool_use_id: Id | None = None
    replacement: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"kind"})


class ContentReplacement(Record, frozen=True, gc=False, kw_only=True, tag="content-replacement"):
    """Tool outputs that were removed from the context to save space."""

    agent_id: Id | None = None
    replacements: list[OutputReplacement] = field(default_factory=list)


class AttributionSnapshot(Record, frozen=True, gc=False, kw_only=True, tag="attribution-snapshot"):
    """The shares of files that the user and the model wrote."""

    message_id: Id | None = None
    also: ClassVar[frozenset[str]] = frozenset({
        "surface", "fileStates", "promptCount", "promptCountAtLastCommit", "permissionPromptCount",
        "permissionPromptCountAtLastCommit", "escapeCount", "escapeCountAtLastCommit",
    })  # fmt: skip


class ForkContextRef(Record, frozen=True, gc=False, kw_only=True, tag="fork-context-ref"):
    """The conversation that a forked agent began with, by reference instead of by copy."""

    agent_id: Id | None = None
    parent_session_id: str | None = None
    parent_last_uuid: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"contextLength"})


class Relocated(Record, frozen=True, gc=False, kw_only=True, tag="relocated"):
    """The session continued in another folder."""

    relocated_cwd: str | None = None


class ModelTotal(RecordPart, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Usage of one model since the counter began."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    ephemeral_5m: int = field(default=0, name="cacheCreationEphemeral5mInputTokens")
    ephemeral_1h: int = field(default=0, name="cacheCreationEphemeral1hInputTokens")
    web_search_requests: int = 0
    cost_usd: float = field(default=0.0, name="costUSD")


class CostState(Record, frozen=True, gc=False, kw_only=True, tag="cost-state"):
    """The client's own running total: written when it exits or leaves the session, and continued by a resume."""

    total_cost_usd: float | None = field(default=None, name="totalCostUSD")
    model_usage: Raw = ABSENT
    start_time: float | None = None
    """Start of the counter, in milliseconds since 1970. A fork continues its parent's; `/branch`, `/clear` and a
    resume after a crash begin a new one.
    """
    also: ClassVar[frozenset[str]] = frozenset({
        "totalAPIDuration", "totalAPIDurationWithoutRetries", "totalToolDuration", "totalLinesAdded",
        "totalLinesRemoved", "totalDuration", "lastDuration", "hasUnknownModelCost",
    })  # fmt: skip

    @property
    def totals(self) -> dict[str, ModelTotal]:
        """The totals by model, without unreadable ones."""
        try:
            listed = msgspec.json.decode(self.model_usage, type=dict[str, Raw] | None) or {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        totals = {}
        for model, raw in listed.items():
            try:
                totals[model] = msgspec.json.decode(raw, type=ModelTotal)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
        return totals


class ContinuedIn(Record, frozen=True, gc=False, kw_only=True, tag="continued-in"):
    """The session that continues this one."""

    continued_in_session_id: str | None = None


class DerivedFrom(Record, frozen=True, gc=False, kw_only=True, tag="derived-from"):
    """The sessions that this one was derived from."""

    sessions: list[Any] = field(default_factory=list)

    @property
    def session_ids(self) -> list[str]:
        """Ids of the sessions, whether they are written as ids or as objects with an id."""
        names = (item.get("sessionId") if isinstance(item, dict) else item for item in self.sessions)
        return [name for name in names if isinstance(name, str)]


class EndedByModel(Record, frozen=True, gc=False, kw_only=True, tag="ended-by-model"):
    """The model ended the conversation."""


class BridgeSession(Record, frozen=True, gc=False, kw_only=True, tag="bridge-session"):
    """The session is also connected to another client."""

    bridge_session_id: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"lastSequenceNum"})


class ToolsUsed(Record, frozen=True, gc=False, kw_only=True, tag="tools-used"):
    """The tools that were offered to the model."""

    also: ClassVar[frozenset[str]] = frozenset({"tools"})


class AtisLatch(Record, frozen=True, gc=False, kw_only=True, tag="atis-latch"):
    """An internal switch of the client."""

    also: ClassVar[frozenset[str]] = frozenset({"atis"})


class ApiRequest(Record, frozen=True, gc=False, kw_only=True, tag="api-request"):
    """A whole request to the API (`api-request`, `api-request-…`): kept in the archive, never shown or searched."""
