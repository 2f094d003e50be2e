"""Saved state is restored unchanged, and continues as if everything had just been read."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.overview import overview_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.record import Record
from backscroll.store.base import Store
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.columns import FileFlags, add_record, title_of
from backscroll.store.reader import EVERYTHING, StoredChat
from tests.contract.coverage import covers
from tests.contract.support import Desk, World, add_chats, file_columns, is_tried, withdrawn
from tests.conversation.support import records_of
from tests.conversation.test_incremental import built_at_once, describe, differences, worlds
from tests.support.drawings import session_uuid
from tests.support.samples import TRY_ALL


def taken_up(store: Store, given: World | None = None) -> ChatBuilder:
    """Everything in a store, as chats that go on; `given` is what was written, for the titles of rows to come."""
    chats = ChatBuilder()
    files = [known.id for known in store.indexed_files().values()]
    loaded = list(store.load_transcripts(sorted(store.chats_of(files))))
    titles = store.titles(number for number, _ in loaded)
    there = {row.uuid for _, transcript in loaded for row in transcript.rows}
    for place, records in (given or {}).items():
        for leaf, title in filter(None, map(title_of, records)):
            if leaf not in there:
                titles.setdefault(leaf, {})[place.file] = title
    for _, transcript in loaded:
        chats.take(transcript, titles)
    return chats


@pytest.mark.slow
@settings(max_examples=300 if TRY_ALL else 40, suppress_health_check=list(HealthCheck))
@given(world=worlds(), data=st.data())
def test_a_restored_transcript_continues_as_if_it_had_never_been_saved(
    long_store: Store, world: dict[TranscriptPlace, list[Record]], data: st.DataObject
) -> None:
    if not is_tried(long_store, [(place.file, len(records)) for place, records in world.items()]):
        return
    desk = Desk(long_store)
    desk.clear()
    cuts = {place: data.draw(st.integers(0, len(records)), label=place.file) for place, records in world.items()}
    given = {place: world[place][:cut] for place, cut in cuts.items()}
    begun = desk.write(given)
    chats = taken_up(long_store, given)
    assert differences(describe(chats), describe(begun)) == []
    for place, cut in cuts.items():
        chats.add(place, world[place][cut:])
    whole = built_at_once(world)
    assert differences(describe(chats), describe(whole)) == []
    assert [overview_of(chat) for chat in chats.chats()] == [overview_of(chat) for chat in whole.chats()]


@settings(max_examples=200 if TRY_ALL else 30, suppress_health_check=list(HealthCheck))
@given(world=worlds(), data=st.data())
def test_a_transcript_saved_many_times_continues_too(
    long_store: Store, world: dict[TranscriptPlace, list[Record]], data: st.DataObject
) -> None:
    if not is_tried(long_store, [(place.file, len(records)) for place, records in world.items()]):
        return
    desk = Desk(long_store)
    desk.clear()
    done = {place: data.draw(st.integers(0, len(records))) for place, records in world.items()}
    desk.write({place: world[place][:cut] for place, cut in done.items()})
    for _ in range(2):
        given = {place: world[place][:end] for place, end in done.items()}
        batch, chats = Batch(), taken_up(long_store, given)
        for place, records in world.items():
            end = data.draw(st.integers(done[place], len(records)))
            number, flags = desk.numbers[place.file], FileFlags()
            new = records[done[place] : end]
            for position, (record, row) in enumerate(zip(new, chats.add(place, new), strict=True), done[place]):
                add_record(batch, flags, number, position, position, 1, record, row)
                if title := title_of(record):
                    batch.titles.append((title[0], number, title[1]))
            batch.withdrawn += [(number, uuid) for uuid in withdrawn(chats, place)]
            batch.files.append(file_columns(chats, place, number, flags))
            done[place] = end
        batch.stale_chats |= long_store.chats_of(desk.numbers.values())
        add_chats(batch, chats, desk.numbers, set())
        long_store.write(batch)
    whole = built_at_once({place: world[place][:end] for place, end in done.items()})
    assert differences(describe(taken_up(long_store)), describe(whole)) == []
    listed = {chat.overview.id: chat.overview for chat in stored(long_store)}
    assert listed == {chat.id: plain(chat.id, whole) for chat in whole.chats()}


def plain(name: str, chats: ChatBuilder) -> object:
    """An overview after a journey through JSON, as every store takes it."""
    (overview,) = (overview_of(chat) for chat in chats.chats() if chat.id == name)
    return msgspec.json.decode(msgspec.json.encode(overview), type=type(overview))


def stored(store: Store) -> list[StoredChat]:
    keys = store.chats_of(known.id for known in store.indexed_files().values())
    return list(store.within(EVERYTHING).chats_by_key(sorted(keys)).values())


# Which chats have to be taken up for what is new.

RELATED = {
    "S1": "a <- - user: hello\nb <- a assistant(m1): done",
    "S2": "c <- gone user: go on",
    "S3": "d <- - user: else\ncontinued-in S9",
}


def check_related(desk: Desk, keys: ChatKeys, expected: str) -> None:
    desk.draw(RELATED)
    found = desk.reader.chats_by_key(sorted(desk.store.related_chats(keys)))
    assert sorted(desk.name(chat.overview.id) for chat in found.values()) == expected.split()


@covers("related_chats", "chats_by_key")
def test_a_row_leads_to_the_chat_that_has_it(desk: Desk) -> None:
    check_related(desk, ChatKeys({"b", "unknown"}, set(), {}), "S1")


def test_a_session_leads_to_nothing_that_was_not_linked(desk: Desk) -> None:
    check_related(desk, ChatKeys(set(), {session_uuid("S8")}, {}), "")


def test_an_answer_leads_to_a_chat_that_began_alike(desk: Desk) -> None:
    check_related(desk, ChatKeys(set(), set(), {"hello": {"m1"}, "else": {"m1"}}), "S1")


def test_an_answer_of_a_chat_that_began_otherwise_leads_nowhere(desk: Desk) -> None:
    check_related(desk, ChatKeys(set(), set(), {"other": {"m1"}, "": {"m1"}}), "")


def test_linked_sessions_lead_to_the_chat(desk: Desk) -> None:
    desk.draw(RELATED)
    batch = Batch()
    batch.links += [("gone", desk.numbers["S2"]), (f"session {session_uuid('S9')}", desk.numbers["S3"])]
    desk.store.write(batch)
    found = desk.store.related_chats(ChatKeys({"gone"}, {session_uuid("S9")}, {}))
    names = {desk.name(chat.overview.id) for chat in desk.reader.chats_by_key(sorted(found)).values()}
    assert names == {"S2", "S3"}


# Files.


@covers("indexed_files")
def test_a_file_is_known_as_it_was_written(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello\nb <- a assistant: done"})
    known = desk.store.indexed_files()["S1"]
    assert (known.path, known.kind, known.size, known.archived, known.bookmark) == (
        "S1", "session", 2, False, (1, 2, 3),
    )  # fmt: skip
    assert desk.store.indexed_files(["S1", "S2"]) == {"S1": known}


def test_ids_are_given_when_a_batch_is_written(store: Store) -> None:
    """Two writers may fill batches at the same time: neither knows what the other is given."""
    batches = []
    for name in ("S1", "S2"):
        batch, chats, place = Batch(), ChatBuilder(), TranscriptPlace(name, session_uuid(name))
        number, flags = batch.new_file(), FileFlags()
        (record,) = records_of(f"{name} <- - user: hello", session=name)
        (row,) = chats.add(place, [record])
        add_record(batch, flags, number, 0, 0, 1, record, row)
        batch.files.append(file_columns(chats, place, number, flags))
        add_chats(batch, chats, {name: number}, set())
        batches.append(batch)
    ids = [store.write(batch) for batch in batches]
    known = store.indexed_files()
    assert [list(given.values()) for given in ids] == [[known["S1"].id], [known["S2"].id]]
    assert len({known["S1"].id, known["S2"].id}) == 2
    assert len({spot.block for spot in store.next_passages(10)}) == 4  # two prompts, two titles


def test_an_id_is_never_given_twice(desk: Desk) -> None:
    given: list[int] = []
    for _ in range(3):
        desk.write({TranscriptPlace("S1", session_uuid("S1")): records_of("a <- - user: hello", session="S1")})
        given += [desk.numbers["S1"], *(1000 + spot.block for spot in desk.store.next_passages(10))]
        desk.clear()
    assert len(set(given)) == len(given) == 9


@covers("write")
def test_a_batch_that_fails_leaves_nothing(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello"})
    batch, chats = Batch(), ChatBuilder()
    place = TranscriptPlace("S2", session_uuid("S2"))
    chats.add(place, records_of("b <- - user: else", session="S2"))
    batch.files.append(file_columns(chats, place, batch.new_file(), FileFlags()))
    batch.files.append(file_columns(chats, place, batch.new_file(), FileFlags()))  # the same path again
    try:
        desk.store.write(batch)
        failed = False
    except Exception:
        failed = True
    assert failed
    assert sorted(desk.store.indexed_files()) == ["S1"]
    assert desk.finds("hello") == "S1: a title"


@covers("chats_of", "load_transcripts")
def test_a_file_that_is_gone_leaves_the_rest_of_its_chat(desk: Desk) -> None:
    begun = "a <- - user: hello\nb <- a assistant: done"
    chats = desk.write({
        TranscriptPlace("S1", session_uuid("S1")): records_of(begun, session="S1"),
        TranscriptPlace("S2", session_uuid("S2")): records_of(begun + "\nc <- b user: go on", session="S2"),
    })  # fmt: skip
    batch = Batch()
    batch.removed.append(desk.numbers["S1"])
    batch.stale_chats |= desk.store.chats_of(desk.numbers.values())
    chats.remove("S1")
    add_chats(batch, chats, desk.numbers, set())
    desk.store.write(batch)
    assert [(chat.id, chat.branches[0].turns[-1].key) for chat in taken_up(desk.store).chats()] == [
        (session_uuid("S2"), "c")
    ]
    desk.index()
    assert [chat.chat.overview.id for chat in desk.ask("hello").chats] == [session_uuid("S2")]
    assert desk.ask("hello").total == 2  # the prompt and the title, once each


def test_an_emptied_file_has_only_what_is_written_afterwards(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello\nb <- a assistant: a zebra", "S2": "summary b: Named\nc <- - user: else"})
    batch, chats, place = Batch(), ChatBuilder(), TranscriptPlace("S1", session_uuid("S1"))
    number, flags = desk.numbers["S1"], FileFlags()
    batch.emptied.append(number)
    (record,) = records_of("d <- - user: a horse")
    (row,) = chats.add(place, [record])
    add_record(batch, flags, number, 0, 0, 1, record, row)
    batch.files.append(file_columns(chats, place, number, flags))
    batch.stale_chats |= desk.store.chats_of([number])
    add_chats(batch, chats, desk.numbers, set())
    desk.store.write(batch)
    desk._texts["S1", 0, 0] = "a horse"
    desk.index()
    assert (desk.finds("zebra"), desk.finds("horse"), desk.finds("hello")) == ("", "S1: d title", "")
    assert desk.ask("zebra").total == desk.ask("hello").total == 0


def test_a_file_that_is_only_kept_any_more_makes_its_chat_an_archived_one(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello", "S2": "b <- - user: hello"}, archived=["S1"])
    assert desk.lists("is:archived") == "S1"


@covers("titles")
def test_titles_name_the_file_that_gives_them(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello\nb <- a assistant: done", "S2": "summary b: Named\nc <- - user: else"})
    assert desk.store.titles([desk.numbers["S1"]]) == {"b": {"S2": "Named"}}
    assert desk.store.titles([desk.numbers["S2"]]) == {}
    assert [chat.overview.title for chat in desk.reader.find(session_uuid("S1"))] == ["Named"]


@covers("note", "noted")
def test_noted_values_are_remembered(store: Store) -> None:
    assert store.noted("catalogue") is None
    store.note("catalogue", "1")
    store.note("catalogue", "2")
    assert store.noted("catalogue") == "2"
