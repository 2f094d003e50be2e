"""What one needs of a chat to read it piece by piece: its shape, where its records stand, what its answers took."""

from collections.abc import Iterable

import apsw

from backscroll.store.base import AnswerCost, ChatShape, StoredMessage, Totals
from backscroll.store.batches import readable, storable
from backscroll.store.local.around import following_steps, turn_passages
from backscroll.store.local.database import array, select
from backscroll.store.local.faults import guarded
from backscroll.store.local.rows import Rows
from backscroll.store.report_rows import FollowingStep, TurnPassage


class Shapes:
    """The part of a store that chats are read from, piece by piece."""

    @property
    def connection(self) -> apsw.Connection:
        """The rows, opened."""
        raise NotImplementedError

    @guarded
    def shape(self, chat: int) -> ChatShape | None:
        """All of it as it was at one moment."""
        rows = Rows(self.connection)
        with self.connection:  # else a file may grow between its rows and how far it was read
            files = [(number, transcript) for number, transcript in rows.load([chat])]
            known = rows.known([transcript.place.file for _, transcript in files])
            titles = rows.titles_in([number for number, _ in files])
        if not files:
            return None
        return ChatShape([(known[transcript.place.file], transcript) for _, transcript in files], titles)

    @guarded
    def places(self, path: str, numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Where records of a file stand, by their numbers."""
        found = select(
            self.connection,
            "select r.number, r.start, r.length from files f join records r on r.file = f.id"
            " where f.path = ? and r.number in (select value from json_each(?))",
            (storable(path), array(numbers)),
        )
        return {number: (start, length) for number, start, length in found}

    @guarded
    def messages_named(self, chat: int, name: str) -> list[StoredMessage]:
        """The messages of a chat whose id is this, or else starts with it; two at most."""
        found = select(
            self.connection,
            "select r.uuid, r.kind, min(r.time), f.agent from files f join records r on r.file = f.id"
            " where f.chat = ?1 and lower(substr(r.uuid, 1, length(?2))) = lower(?2)"
            " group by r.uuid order by lower(r.uuid) = lower(?2) desc, min(r.time) limit 2",
            (chat, storable(name)),
        )
        messages = [StoredMessage(readable(uuid), kind, time, agent) for uuid, kind, time, agent in found]
        return messages[:1] if messages and messages[0].uuid.lower() == name.lower() else messages

    @guarded
    def totals(self) -> Totals:
        """How many chats there are, with how many messages."""
        ((chats, messages),) = select(self.connection, "select count(*), sum(messages) from v_chats")
        return Totals(chats, messages or 0)

    @guarded
    def outside_before(self, path: str, number: int) -> list[tuple[int, int]]:
        """Where records that are no rows stand, those before a number in the same file, the nearest first."""
        return select(
            self.connection,
            "select r.start, r.length from files f join records r on r.file = f.id"
            " where f.path = ? and r.number < ? and r.kind = 'outside' order by r.number desc limit 500",
            (storable(path), number),
        )

    @guarded
    def chats_at(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids of the chats that these files are part of, by path."""
        found = select(
            self.connection,
            "select f.path, c.name from files f join chats c on c.id = f.chat"
            " where f.path in (select value from json_each(?))",
            (array(storable(path) for path in paths),),
        )
        return {readable(path): name for path, name in found}

    @guarded
    def answers(self, messages: Iterable[str]) -> dict[str, AnswerCost]:
        """What these answers took; those that nothing is known of are left out."""
        found = select(
            self.connection,
            "select message, input + cache_read + cache_write, output, cost from counted"
            " where message in (select value from json_each(?))",
            (array(storable(message) for message in messages),),
        )
        return {message: AnswerCost(context, output, cost) for message, context, output, cost in found}

    @guarded
    def failed(self, chat: int) -> set[str]:
        """The calls of a chat that ended in an error."""
        found = select(
            self.connection,
            "select b.call from files f join records r on r.file = f.id join blocks b on b.record = r.id"
            " where f.chat = ? and b.role = 'output' and b.state = 'error' and b.call is not null",
            (chat,),
        )
        return {call for (call,) in found}

    @guarded
    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """The prompt and the last answer of the turns that these passages stand in."""
        return turn_passages(self.connection, blocks)

    @guarded
    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """What led to a result, and how it went on."""
        return following_steps(self.connection, block, ahead, limit)
