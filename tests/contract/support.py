"""Drawn sessions in a store, and what it answers written down in the letters of the drawing.

Files are named as in the tests of conversations: `S1` is a session, `S1/x1` its agent x1. An answer is written as its
chats, each with what was found in it: `S1: a b | S2: title`.
"""

import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.passages import passages_of
from backscroll.conversation.saved import save
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.query.parse import parse
from backscroll.records.record import Record
from backscroll.store.base import PassageText, Store
from backscroll.store.batches import Batch, FileColumns, microseconds
from backscroll.store.columns import FileFlags, add_record, add_spilled, change_of, title_of
from backscroll.store.reader import EVERYTHING, Scope, SearchPage, StoreReader
from tests.conversation.support import records_of
from tests.support.drawings import session_uuid
from tests.support.samples import TRY_ALL

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME: Final = ("ada", "/home/ada/.claude")
World = Mapping[TranscriptPlace, Sequence[Record]]


SPARED: Final = 8


def is_tried(store: Store, *example: object) -> bool:
    """Whether a drawn example is worth its time: on a server, where each costs many round trips, one in eight is.

    The example itself decides, so that one that fails does so again.
    """
    return store.dialect != "PostgreSQL" or TRY_ALL or zlib.crc32(repr(example).encode()) % SPARED == 0


class Desk:
    """Writes whole files into a store, as a first update would."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.numbers: dict[str, int] = {}
        self._texts: dict[tuple[str, int, int], str] = {}
        self._names: dict[str, str] = {}

    @property
    def reader(self) -> StoreReader:
        """Asks about everything."""
        return self.store.within(EVERYTHING)

    def within(self, scope: Scope | None) -> StoreReader:
        return self.reader if scope is None else self.store.within(scope)

    def draw(
        self,
        drawings: Mapping[str, str],
        *,
        archived: Sequence[str] = (),
        abandoned: str = "",
        homes: Mapping[str, tuple[str, str]] | None = None,
        is_searchable: bool = True,
    ) -> "Desk":
        """Write drawn files and make their words findable.

        `abandoned` are the rows that were taken back; `homes` are those of files that are not in the usual one.
        """
        world = {}
        for name, text in drawings.items():
            session, _, agent = name.partition("/")
            self._names[session_uuid(session)] = session
            place = TranscriptPlace(name, session_uuid(session), agent or None)
            world[place] = records_of(text, **({"session": session} | ({"agent": agent} if agent else {})))
        self.write(world, archived=archived, abandoned=abandoned.split(), homes=homes or {})
        if is_searchable:
            self.index()
        return self

    def write(
        self,
        world: World,
        *,
        archived: Sequence[str] = (),
        abandoned: Sequence[str] = (),
        homes: Mapping[str, tuple[str, str]] = {},
    ) -> ChatBuilder:
        """Write these files, all of them new."""
        batch, chats = Batch(), ChatBuilder()
        taken_back: set[tuple[int, int]] = set()
        for place, records in world.items():
            number = self.numbers[place.file] = batch.new_file()
            flags = FileFlags()
            rows = chats.add(place, records)
            for position, (record, row) in enumerate(zip(records, rows, strict=True)):
                add_record(batch, flags, number, position, position, 1, record, row)
                for passage in passages_of(record, row.kind if row else None):
                    self._texts[place.file, position, passage.number] = passage.text()
                if title := title_of(record):
                    batch.titles.append((title[0], number, title[1]))
                if row and row.uuid in abandoned:
                    taken_back.add((number, position))
            home = homes.get(place.file, HOME)
            batch.files.append(file_columns(chats, place, number, flags, home, is_archived=place.file in archived))
            batch.withdrawn += [(number, uuid) for uuid in withdrawn(chats, place)]
        add_chats(batch, chats, self.numbers, taken_back)
        ids = self.store.write(batch)
        self.numbers = {name: ids.get(number, number) for name, number in self.numbers.items()}
        return chats

    def write_result(self, source: str, home: tuple[str, str], session: str, text: str) -> None:
        """Write the result of a tool that is in a file of its own, and make its words findable."""
        batch = Batch()
        number = batch.new_file()
        add_spilled(batch, number, 0, len(text), 0, source)
        batch.files.append(
            FileColumns(
                number, source, *home, f"projects/-work/{session}/tool-results/{source}.txt", "tool-result", session,
                None, project=None, first_typed="", started=None, last_active=None, size=len(text), archived=False,
                bookmark=None, state=None,
            )
        )  # fmt: skip
        self._texts[source, 0, 0] = text
        self.store.write(batch)
        self.index()

    def clear(self) -> None:
        """Remove every file."""
        batch = Batch()
        batch.removed += [known.id for known in self.store.indexed_files().values()]
        batch.stale_chats |= self.store.chats_of(batch.removed)
        self.store.write(batch)
        self.numbers.clear()

    def remove(self, *names: str) -> None:
        """Remove files whose chats are all theirs."""
        batch = Batch()
        batch.removed += [self.numbers.pop(name) for name in names]
        batch.stale_chats |= self.store.chats_of(batch.removed)
        self.store.write(batch)
        self.index()

    def index(self) -> None:
        """Make findable what is waiting."""
        while spots := self.store.next_passages(7):
            texts = [spot.title or self._texts[spot.source, spot.start, spot.number] for spot in spots]
            self.store.index([PassageText(spot, text) for spot, text in zip(spots, texts, strict=True)])
        self.store.flush()

    def ask(self, query: str, scope: Scope | None = None, **options: Any) -> SearchPage:  # noqa: ANN401
        wanted: dict[str, Any] = {"sort": "relevance", "limit": 20, "offset": 0, "hits": 20} | options
        return self.within(scope).search(parse(query, NOW), **wanted)

    def ranks(self, query: str, scope: Scope | None = None, **options: Any) -> str:  # noqa: ANN401
        """The answer in its order."""
        found = self.ask(query, scope, **options).chats
        return " | ".join(
            f"{self.name(chat.chat.overview.id)}: {' '.join(hit.uuid or hit.role for hit in chat.hits)}"
            for chat in found
        )

    def finds(self, query: str, scope: Scope | None = None) -> str:
        """The answer in the order of the letters."""
        found = self.ask(query, scope).chats
        return " | ".join(
            sorted(
                f"{self.name(chat.chat.overview.id)}: {' '.join(sorted(hit.uuid or hit.role for hit in chat.hits))}"
                for chat in found
            )
        )

    def lists(self, query: str, scope: Scope | None = None, sort: str = "newest") -> str:
        """The chats that a list shows."""
        found = self.within(scope).chats(parse(query, NOW), sort=sort, limit=None, offset=0)
        return " ".join(self.name(chat.overview.id) for chat in found)

    def name(self, session: str) -> str:
        return self._names.get(session, session)


def file_columns(
    chats: ChatBuilder,
    place: TranscriptPlace,
    number: int,
    flags: FileFlags,
    home: tuple[str, str] = HOME,
    *,
    is_archived: bool = False,
) -> FileColumns:
    transcript = chats.transcript(place.file)
    assert transcript is not None
    return FileColumns(
        id=number,
        source=place.file,
        machine=home[0],
        home=home[1],
        path=place.name,
        kind="session" if place.agent_id is None else "agent",
        session=transcript.session_id,
        agent=place.agent_id,
        project=transcript.project,
        first_typed=transcript.first_typed,
        started=microseconds(transcript.first),
        last_active=microseconds(transcript.last),
        size=transcript.position,
        archived=is_archived,
        bookmark="[1, 2, 3]",
        state=save(transcript),
        has_image=flags.image,
        has_thinking=flags.thinking,
        has_diff=flags.diff,
    )


def withdrawn(chats: ChatBuilder, place: TranscriptPlace) -> list[str]:
    transcript = chats.transcript(place.file)
    assert transcript is not None
    taken = list(transcript.withdrawn)
    transcript.withdrawn.clear()
    return taken


def add_chats(batch: Batch, chats: ChatBuilder, numbers: Mapping[str, int], abandoned: set[tuple[int, int]]) -> None:
    """Put every chat as it is now into a batch."""
    for chat in chats.chats():
        change = change_of(chat, numbers)
        change.abandoned |= {key for key in abandoned if key[0] in change.files}
        batch.chats.append(change)
