"""The secrets that are masked before sharing: counted by kind, with their messages."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from backscroll.conversation.messages import Message, ToolCall, message_of, results_of
from backscroll.conversation.rows import Row
from backscroll.library.library import Library
from backscroll.library.sharing.selection import SelectedChat, ShareSelection, selected
from backscroll.library.sharing.share import Redactor, SharedChat, redacted_record, rows_of, share
from backscroll.records.content import ToolUse
from backscroll.records.kinds import ChainRecord
from backscroll.redaction.rules import RULES
from backscroll.store.reader import StoredChat

MASK: Final = re.compile(rb"\[redacted: [a-z-]+(?: [0-9]+)?\]")
KINDS: Final = {rule.name: rule.what for rule in RULES}


@dataclass
class MaskedSecret:
    """A secret that will be masked."""

    mask: str
    """The text that replaces it."""
    kind: str
    """The name of the rule that matched."""
    begins: str
    """The secret's first characters, enough to recognise it."""
    length: int
    messages: list[str] = field(default_factory=list)
    """The messages that contain it, by key; empty if it is only beside them, such as in the title."""

    @property
    def what(self) -> str:
        """The kind of secret, for people."""
        return KINDS.get(self.kind, self.kind)


def masked_in(library: Library, stored: StoredChat, selection: ShareSelection, hiding: Redactor) -> list[MaskedSecret]:
    """Return the secrets in the selected part of a chat, in the order of detection."""
    shared = selected(share(library, stored, hiding), selection)
    known = _masked_secrets(hiding)
    seen: dict[str, MaskedSecret] = {}
    for mask in MASK.findall(shared.title.encode("utf-8", "replace")):
        if (name := mask.decode()) in known:
            seen[name] = known[name]
    for message in _messages(shared):
        for mask in dict.fromkeys(MASK.findall(_content(message))):
            if (name := mask.decode()) in known:
                seen[name] = known[name]
                seen[name].messages.append(message.key)
    return list(seen.values())


def masked_rows(library: Library, stored: StoredChat, hiding: Redactor) -> list[MaskedSecret]:
    """Return the secrets in the files of a chat."""
    for _ in rows_of(library, stored, hiding):
        pass
    return list(_masked_secrets(hiding).values())


def masked_message(message: Message, hiding: Redactor) -> Message:
    """Return the message with its secrets masked: its records are redacted, and it is assembled again."""
    made = message_of([_masked_row(row, hiding) for row in message.rows])
    if made is None:
        return message
    made.kind, made.id = message.kind, message.id
    rows = {id(call.result.row): call.result.row for call in message.calls.values() if call.result}
    results = results_of(_masked_row(row, hiding) for row in rows.values())
    for block in made.blocks:
        if isinstance(block, ToolUse) and (call := message.calls.get(block.id or "")) is not None:
            made.calls[block.id or ""] = ToolCall(block, results.get(block.id or ""), call.state)
    return made


def _masked_row(row: Row, hiding: Redactor) -> Row:
    redacted = redacted_record(row.record, hiding) if row.record is not None else None
    masked = copy.copy(row)
    masked.record = redacted if isinstance(redacted, ChainRecord) else None
    return masked


def _messages(shared: SharedChat | SelectedChat) -> Iterator[Message]:
    for branch in shared.chat.branches:
        yield from shared.messages(branch)
    for agent in shared.chat.agents:
        yield from shared.agent_messages(agent)


def _content(message: Message) -> bytes:
    """Return all content of a message that a file has."""
    parts = [message.text.encode("utf-8", "replace")]
    results = [call.result for call in message.calls.values() if call.result]
    for block in (*message.blocks, *(result.block for result in results)):
        try:
            parts.append(msgspec.json.encode(block))
        except (msgspec.MsgspecError, OverflowError, ValueError, TypeError):
            parts.append(repr(block).encode("utf-8", "replace"))
    parts += [bytes(result.details) for result in results]
    return b"\n".join(parts)


def _masked_secrets(hiding: Redactor) -> dict[str, MaskedSecret]:
    secrets = {}
    for kind, secret, mask in hiding.masks():
        text = secret.decode("utf-8", "replace")
        secrets[mask] = MaskedSecret(mask, kind, text[: min(4, len(text) // 4)], len(text))
    return secrets
