"""Open chats for sharing, with their secrets masked.

Every record is redacted before anything is derived from it, so titles, paths, agents, inputs and results, and every
format that shows them, are redacted alike.
"""

import json
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

import msgspec
from msgspec import structs

from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.headings import AnswerCost
from backscroll.conversation.overview import Overview, overview_of
from backscroll.conversation.rows import LONGEST_TEXT
from backscroll.errors import BackscrollError
from backscroll.files.layout import TRANSCRIPTS
from backscroll.files.reading import Line
from backscroll.library.indexing.sources import (
    AnyReading,
    Source,
    conversation_place,
    in_pieces,
    records_in,
    records_on,
    take_beside,
)
from backscroll.library.library import Library
from backscroll.library.marked_chats import marked_chat
from backscroll.library.opened_chat import OpenedChat
from backscroll.records.decode import Problem, decode_line, fields_of
from backscroll.records.large_values import is_large, without_large_values
from backscroll.records.record import Record
from backscroll.redaction.duplicate_keys import has_duplicate_keys
from backscroll.redaction.redactor import Redactor, usual_rules
from backscroll.redaction.rules import VERSION
from backscroll.store.reader import StoredChat

CROWDED: Final = "[left out: {bytes} bytes with more than {most} values, too many to look through for secrets]"

__all__ = ["VERSION", "Redactor", "SharedChat", "redaction_summary", "redactor", "rows_of", "share"]


def redactor(*, emails: bool = False) -> Redactor:
    """Return a redactor for everything that is shared together; masks e-mail addresses only on request."""
    return Redactor(usual_rules(emails=emails))


def redaction_summary(hiding: Redactor) -> str:
    """Return the masked secrets in one line: `masked 3 secrets: github-token 2, jwt 1`."""
    counts = hiding.secrets
    if not counts:
        return "masked no secrets: none were found"
    total = sum(counts.values())
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return f"masked {total:,} secret{'' if total == 1 else 's'}: {kinds}"


class SharedChat(OpenedChat):
    """A chat opened for sharing."""

    def __init__(self, library: Library, stored: StoredChat, chat: Chat, hiding: Redactor | None) -> None:
        title = stored.overview.title
        if hiding is not None:
            title = _title(chat, title, hiding)
        super().__init__(chat, title, library.scope.live)
        mark = marked_chat(library, stored).mark
        self.overview: Overview = overview_of(chat, title) if hiding is not None else stored.overview
        self.is_archived = stored.archived
        self.unrecorded: tuple[int, int | None] = stored.unrecorded_tokens, stored.unrecorded_cost
        self.is_pinned = mark.pinned
        self.tags = tuple(hiding.text(tag) if hiding else tag for tag in mark.tags)
        self.is_redacted = hiding is not None
        self.clock = time.thread_time
        self._reader = library.reader

    @cached_property
    def answer_costs(self) -> Mapping[str, AnswerCost]:
        """The usage of the chat's answers, by message id."""
        rows = [node.row for node in self.chat.tree.all_nodes()]
        rows += [row for agent in self.chat.agents for row in agent.rows]
        names = {row.message_id or row.uuid for row in rows if row.usage}
        return self._reader.answer_costs(names)


def share(library: Library, chat: str | StoredChat, hiding: Redactor | None) -> SharedChat:
    """Open a chat for sharing; without a redactor, unchanged."""
    stored = library.find(chat) if isinstance(chat, str) else chat
    if hiding is None:
        return SharedChat(library, stored, library.open(stored).chat, None)
    chats = ChatBuilder(keep=True, is_elsewhere=library.machine.is_elsewhere)
    for source in _sources(library, stored):
        place = conversation_place(source)
        take_beside(chats, place, library.beside(source))
        with source.open() as reading:
            chats.add(place, _redact_records((record for record, _, _ in records_in(reading)), hiding))
    opened = chats.chats()
    chosen = next((opened_chat for opened_chat in opened if opened_chat.id == stored.overview.id), None) or next(
        iter(opened), None
    )
    if chosen is None:
        raise BackscrollError("the files of this chat cannot be read", "run backscroll archive verify")
    for transcript in chosen.transcripts:
        if transcript.title_beside:
            transcript.title_beside = hiding.text(transcript.title_beside)
        if transcript.meta is not None:
            meta = structs.asdict(transcript.meta)
            transcript.meta = type(transcript.meta)(**hiding.value(meta))
    return SharedChat(library, stored, chosen, hiding)


def rows_of(library: Library, chat: str | StoredChat, hiding: Redactor | None) -> Iterator[bytes]:
    """Yield the files of a chat one after another, in pieces: sessions, oldest first, then agents.

    Without a redactor byte for byte; otherwise every record with a secret is rewritten.
    """
    stored = library.find(chat) if isinstance(chat, str) else chat
    sources = _sources(library, stored)
    for source in sorted(sources, key=lambda source: _rank(source, stored)):
        last = b"\n"
        if hiding is None:
            for piece in in_pieces(source):
                yield piece
                last = piece[-1:]
        else:
            with source.open() as reading:
                for line in _redacted_lines(reading, hiding):
                    yield line
                    last = line[-1:]
        if last != b"\n":
            yield b"\n"


def redacted_record(record: Record, hiding: Redactor) -> Record | None:
    """Return the record without its secrets; the same object if it has none, None if it cannot be decoded.

    Values with very many parts are replaced by a note: decoded, they could take gigabytes.
    """
    if is_large(record.raw):
        cut = decode_line(without_large_values(record.raw, CROWDED))
        if isinstance(cut, Problem):
            return None
        record = cut
    fields = fields_of(record)
    if not fields:
        return None
    hidden = hiding.value(fields)
    if hidden is fields and not has_duplicate_keys(record.raw, fields):
        return record
    try:
        data = msgspec.json.encode(hidden)
    except (OverflowError, ValueError, TypeError):  # numbers that only Python can hold
        data = json.dumps(hidden, ensure_ascii=False).encode()
    decoded = decode_line(data)
    return None if isinstance(decoded, Problem) else decoded


def _redact_records(records: Iterator[Record], hiding: Redactor) -> Iterator[Record]:
    for record in records:
        redacted = redacted_record(record, hiding)
        if redacted is not None:
            yield redacted


def _redacted_lines(reading: AnyReading, hiding: Redactor) -> Iterator[bytes]:
    for line in _lines(reading):
        for item, _, _ in records_on(reading, line):
            if isinstance(item, Problem):
                text = hiding.text(item.raw.decode("utf-8", "replace")).strip("\0 \r\n")
                if text:
                    yield text.encode() + b"\n"
            elif (redacted := redacted_record(item, hiding)) is not None:
                yield redacted.raw.strip(b"\0 \r\n") + b"\n"


def _lines(reading: AnyReading) -> Iterator[Line]:
    yield from reading
    if reading.tail is not None:
        yield reading.tail


def _sources(library: Library, stored: StoredChat) -> list[Source]:
    sources = (library.source(file.source) for file in library.reader.files_of(stored.key))
    return [source for source in sources if source is not None and source.kind in TRANSCRIPTS]


def _rank(source: Source, stored: StoredChat) -> tuple[bool, int, str]:
    sessions = stored.overview.sessions
    name = source.place.session_id
    at = sessions.index(name) if name in sessions else len(sessions)
    return source.place.agent_id is not None, at, source.id


def _title(chat: Chat, title: str, hiding: Redactor) -> str:
    """Return the redacted title. Only sidecars can override the chat's own, and its first prompt may have been cut."""
    own = chat.title
    if own not in (chat.first_prompt, chat.id[:8]):
        return own
    return own if len(title) >= LONGEST_TEXT else hiding.text(title)
