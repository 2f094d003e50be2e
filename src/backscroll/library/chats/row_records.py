"""Read the records of rows from their files."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from backscroll.conversation.messages import Message, message_of, results_of
from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import queued_row
from backscroll.conversation.turns import Node
from backscroll.files.source_key import SourceKey
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.records.kinds import ChainRecord
from backscroll.records.outside import QueueOperation

Place = tuple[int, int]


class RowRecords:
    """Knows the positions of rows that the index may not have yet."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, int], Place] = {}

    def note(self, source: str, number: int, start: int, length: int) -> None:
        """The position a record was read from."""
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
        """Messages with their records and the results of their calls."""
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
            messages.append(message)
        return messages

    def read(
        self, library: Library, rows: Iterable[Row], copies: Callable[[str], Node | None] = lambda _: None
    ) -> dict[str, Row]:
        """The rows with their records, by uuid. An unreadable record is taken from a copy, or left out."""
        found: dict[str, Row] = {}
        with library.texts() as texts:
            missing = self._read(library, texts, rows, found)
            others = [copy for row in missing if (node := copies(row.uuid)) for copy in node.copies if copy is not row]
            self._read(library, texts, others, found)
        return found

    def _read(self, library: Library, texts: Texts, rows: Iterable[Row], found: dict[str, Row]) -> list[Row]:
        by_file: dict[str, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            by_file[row.transcript][row.position] = row
        missing = []
        for source, wanted in by_file.items():
            asked = [number for number in wanted if (source, number) not in self._places]
            places = library.reader.record_positions(source, asked) if asked else {}
            for number, row in sorted(wanted.items()):
                start, length = self._places.get((source, number)) or places.get(number) or (0, 0)
                record = texts.record(source, start, length) if length else None
                if isinstance(record, QueueOperation):  # it stands in for a row that the client did not write
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
        """The queued prompt of a row that stands for its removal from the queue."""
        noted = sorted((at for name, at in self._places if name == source and at < number), reverse=True)
        places = [self._places[source, at] for at in noted] + library.reader.outside_positions(source, number)
        begin = row.uuid.split(" ", 3)[-1]
        for start, length in places:
            record = texts.record(source, start, length)
            if isinstance(record, QueueOperation) and record.operation == "enqueue" and record.text.startswith(begin):
                return record.text
        return row.text
