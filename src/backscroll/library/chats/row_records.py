"""Read the records of rows from their files."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from backscroll.conversation.messages import Message, message_of, results_of
from backscroll.conversation.queue import queued_row
from backscroll.conversation.rows import Row
from backscroll.conversation.turns import Node
from backscroll.files.source_key import SourceKey
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.library.opened_chat import foreign_copies, note_conflicts
from backscroll.records.kinds import ChainRecord
from backscroll.records.outside import QueueOperation

Place = tuple[int, int]


class RowRecords:
    """Reads the records of rows, also of rows that the index does not have yet."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, int], Place] = {}

    def note(self, source: str, number: int, start: int, length: int) -> None:
        """Remember the position of a record."""
        self._places[source, number] = (start, length)

    def messages(
        self,
        library: Library,
        branch_messages: BranchMessages,
        keys: Sequence[str],
        *,
        is_live: bool,
        copies: Callable[[str], Node | None],
    ) -> list[Message]:
        """Return messages with their records and the results of their calls."""
        entries = [branch_messages.entry(key) for key in keys if key in branch_messages.at]
        calls = [call.id for entry in entries for row in entry.rows for call in row.calls]
        wanted = [row for entry in entries for row in entry.rows]
        wanted += [branch_messages.results[call] for call in calls if call in branch_messages.results]
        read = self.read(library, wanted, copies)
        results = results_of(row for row in read.values() if row.results)
        last = branch_messages.turns[-1] if branch_messages.turns else None
        messages = []
        for entry in entries:
            message = message_of([read[row.uuid] for row in entry.rows if row.uuid in read])
            if message is None:
                continue
            message.settle(
                results,
                was_interrupted=entry.turn in branch_messages.interrupted,
                is_live=is_live and entry.turn is last,
            )
            message.starts_part = branch_messages.part_starts.get(entry.key)
            messages.append(message)
        self._note_conflicts(library, messages, copies)
        return messages

    def _note_conflicts(
        self, library: Library, messages: Sequence[Message], copies: Callable[[str], Node | None]
    ) -> None:
        """Note conflicts with copies of messages from other machines; only these copies are read."""
        wanted = [
            copy
            for message in messages
            for row in message.rows
            if (node := copies(row.uuid)) is not None
            for copy in foreign_copies(node, SourceKey.parse(row.transcript).machine)
        ]
        if not wanted:
            return
        read: dict[tuple[str, int], ChainRecord | None] = {}
        with library.texts() as texts:
            for source in {copy.transcript for copy in wanted}:
                by_uuid: dict[str, Row] = {}
                self._read(library, texts, (copy for copy in wanted if copy.transcript == source), by_uuid)
                read |= {(source, row.position): row.record for row in by_uuid.values()}
        note_conflicts(messages, copies, lambda copy: read.get((copy.transcript, copy.position)))

    def read(
        self, library: Library, rows: Iterable[Row], copies: Callable[[str], Node | None] = lambda _: None
    ) -> dict[str, Row]:
        """Return the rows with their records, by uuid. An unreadable record is taken from a copy, or left out."""
        by_uuid: dict[str, Row] = {}
        with library.texts() as texts:
            missing = self._read(library, texts, rows, by_uuid)
            others = [copy for row in missing if (node := copies(row.uuid)) for copy in node.copies if copy is not row]
            self._read(library, texts, others, by_uuid)
        return by_uuid

    def _read(self, library: Library, texts: Texts, rows: Iterable[Row], found: dict[str, Row]) -> list[Row]:
        by_file: dict[str, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            by_file[row.transcript][row.position] = row
        missing = []
        for source, wanted in by_file.items():
            unknown = [number for number in wanted if (source, number) not in self._places]
            places = library.reader.record_positions(source, unknown) if unknown else {}
            for number, row in sorted(wanted.items()):
                start, length = self._places.get((source, number)) or places.get(number) or (0, 0)
                record = texts.record(source, start, length) if length else None
                if isinstance(record, QueueOperation):  # the record replaces a row that the client did not write
                    text = record.text or self._queued(library, texts, source, number, row)
                    record = queued_row(record, row.uuid, row.parent, text)
                if not isinstance(record, ChainRecord) or (record.uuid or row.uuid) != row.uuid:
                    missing.append(row)
                else:
                    read = found.setdefault(
                        row.uuid, Row(record, source, number, keep=True, origin=SourceKey.parse(source).origin)
                    )
                    row.usage = read.usage  # small, and the usage of an agent is computed from its rows
        return missing

    def _queued(self, library: Library, texts: Texts, source: str, number: int, row: Row) -> str:
        """Return the queued prompt of a row that represents its removal from the queue."""
        noted = sorted((at for name, at in self._places if name == source and at < number), reverse=True)
        places = [self._places[source, at] for at in noted] + library.reader.outside_positions(source, number)
        begin = row.uuid.split(" ", 3)[-1]
        for start, length in places:
            record = texts.record(source, start, length)
            if isinstance(record, QueueOperation) and record.operation == "enqueue" and record.text.startswith(begin):
                return record.text
        return row.text
