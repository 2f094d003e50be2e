"""Read a chat piece by piece: its structure, the positions of its records, the usage of its answers."""

from collections.abc import Iterable

from backscroll.conversation.headings import AnswerCost
from backscroll.store.batches import readable, storable
from backscroll.store.reader import ChatShape, IndexedFile, StoredMessage, Totals
from backscroll.store.report_rows import FollowingStep, TurnPassage
from backscroll.store.sql.around import following_steps, turn_passages
from backscroll.store.sql.saved_files import SavedFiles
from backscroll.store.sql.statements import ScopedRows, array, select


class ChatPieces:
    """The part of a reader that reads chats piece by piece."""

    @property
    def rows(self) -> ScopedRows:
        """The rows that the reader may see."""
        raise NotImplementedError

    def files_of(self, chat: int) -> list[IndexedFile]:
        """Return the files of a chat."""
        return SavedFiles(self.rows).of_chat(chat)

    def sources_of(self, chats: Iterable[int]) -> set[str]:
        """Return the ids of the files of these chats."""
        statement = "select source from files where chat in (select value from json_each(?))"
        return {readable(source) for (source,) in select(self.rows, statement, (array(chats),))}

    def chat_shape(self, chat: int) -> ChatShape | None:
        """Return a chat without its records, read in one transaction; None if there is no such chat."""
        rows = self.rows
        saved = SavedFiles(rows)
        with rows.transaction():  # otherwise a file may grow between reading its rows and its progress
            files = list(saved.load([chat]))
            known = saved.known([transcript.place.file for _, transcript in files])
            titles = saved.titles_in([number for number, _ in files])
        if not files:
            return None
        return ChatShape([(known[transcript.place.file], transcript) for _, transcript in files], titles)

    def record_positions(self, source: str, numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return the offset and length of records of a file, by their numbers."""
        rows = select(
            self.rows,
            "select r.number, r.start, r.length from files f join records r on r.file = f.id"
            " where f.source = ? and r.number in (select value from json_each(?))",
            (storable(source), array(numbers)),
        )
        return {number: (start, length) for number, start, length in rows}

    def messages_named(self, chat: int, name: str) -> list[StoredMessage]:
        """Return the messages of a chat with this id, otherwise those whose id starts with it; at most two."""
        rows = select(
            self.rows,
            "select uuid, kind, time, agent from (select r.uuid, r.kind, r.time, f.agent, row_number() over ("
            "partition by r.uuid order by r.time is null, r.time, r.file, r.number) as place"
            " from files f join records r on r.file = f.id"
            " where f.chat = :chat and lower(substr(r.uuid, 1, length(:name))) = lower(:name)) as named"
            " where place = 1 order by lower(uuid) = lower(:name) desc, time nulls first limit 2",
            {"chat": chat, "name": storable(name)},
        )
        messages = [StoredMessage(readable(uuid), kind, time, agent) for uuid, kind, time, agent in rows]
        return messages[:1] if messages and messages[0].uuid.lower() == name.lower() else messages

    def totals(self) -> Totals:
        """Return the number of chats and messages."""
        ((chats, messages),) = select(
            self.rows, "select count(*), sum(json_extract(overview, '$.messages')) from chats where not silent"
        )
        return Totals(chats, messages or 0)

    def outside_positions(self, source: str, number: int) -> list[tuple[int, int]]:
        """Return the positions of records that are not rows, before a number in the same file, the nearest first."""
        return select(
            self.rows,
            "select r.start, r.length from files f join records r on r.file = f.id"
            " where f.source = ? and r.number < ? and r.kind = 'outside' order by r.number desc limit 500",
            (storable(source), number),
        )

    def chat_ids(self, sources: Iterable[str]) -> dict[str, str]:
        """Return the ids of the chats that these files are part of, by file."""
        rows = select(
            self.rows,
            "select f.source, c.name from files f join chats c on c.id = f.chat"
            " where f.source in (select value from json_each(?))",
            (array(storable(source) for source in sources),),
        )
        return {readable(source): name for source, name in rows}

    def answer_costs(self, messages: Iterable[str]) -> dict[str, AnswerCost]:
        """Return the usage of these answers; unknown ones are left out."""
        rows = select(
            self.rows,
            "select message, input + cache_read + cache_write, output, cost, final from counted"
            " where message in (select value from json_each(?))",
            (array(storable(message) for message in messages),),
        )
        return {
            message: AnswerCost(context, output, cost, bool(final)) for message, context, output, cost, final in rows
        }

    def failed_calls(self, chat: int) -> set[str]:
        """Return the calls of a chat that ended in an error."""
        rows = select(
            self.rows,
            "select b.call from files f join records r on r.file = f.id join blocks b on b.record = r.id"
            " where f.chat = ? and b.role = 'output' and b.state = 'error' and b.call is not null",
            (chat,),
        )
        return {call for (call,) in rows}

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """Return the prompt and the last answer of the turns that contain these passages."""
        return turn_passages(self.rows, blocks)

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """Return the call of a result, and the steps after it."""
        return following_steps(self.rows, block, ahead, limit)
