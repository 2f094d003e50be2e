"""Chats that grow, record by record and in any order of the files, are those that are built at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.saved import save
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.conversation.tree import Tree, Turn
from backscroll.files.reading import Bookmark, Reading
from backscroll.records.decode import decode_all, decode_line
from backscroll.records.record import Record
from tests.support.drawings import Row, draw, line, session_uuid
from tests.support.samples import TRY_ALL

NO_ROW: Final = "00000000-0000-0000-0000-000000000000"
World = Mapping[TranscriptPlace, Sequence[Record]]


Description = dict[str, object]


def describe(chats: ChatBuilder) -> list[Description]:
    """Everything that can be asked of all chats, as plain values."""
    return [describe_chat(chat) for chat in chats.chats()]


def differences(grown: list[Description], built: list[Description]) -> list[object]:
    """What is not the same, and only that: whole descriptions are long."""
    if [chat["id"] for chat in grown] != [chat["id"] for chat in built]:
        return [
            ("chats", [(chat["id"], chat["sessions"]) for chat in grown], [(c["id"], c["sessions"]) for c in built])
        ]
    return [
        (name, one[name], other[name])
        for one, other in zip(grown, built, strict=True)
        for name in one
        if one[name] != other[name]
    ]


def describe_chat(chat: Chat) -> Description:
    return {
        "id": chat.id,
        "title": chat.title,
        "first prompt": chat.first_prompt,
        "project": chat.project,
        "sessions": [session.place.file for session in chat.sessions],
        "leaves": [leaf.place.file for leaf in chat.leaves],
        "ends": {session.place.file: rows_of(chat.leaf_of(session)) for session in chat.sessions},
        "branches": [
            (branch.number, [rows_of(turn) for turn in branch.turns], rows_of(branch.left_at), branch.sessions)
            for branch in chat.branches
        ],
        "turns": sorted(turn.key for branch in chat.branches for turn in branch.turns),
        "nodes": {
            node.row.uuid: (
                node.row.transcript,
                node.row.position,
                node.parent and node.parent.row.uuid,
                node.part.row.uuid,
                node.starts_part,
                sorted((copy.transcript, copy.position) for copy in node.copies),
            )
            for node in chat.tree.nodes.values()
        },
        "agents": [
            (agent.id, agent.call, agent.parent and agent.parent.id, [row.uuid for row in agent.rows], agent.prompt)
            for agent in chat.agents
        ],
        "kinds": chat.kinds,
        "counts": (chat.prompts, chat.messages, chat.compactions, chat.copies),
        "times": (chat.started, chat.last_active, chat.active_time),
        "lists": (chat.models, chat.versions, chat.git_branches, chat.tags, chat.files_touched),
    }


def rows_of(turn: Turn | None) -> list[str]:
    return [node.row.uuid for node in turn.in_order()] if turn else []


def built_at_once(world: World) -> ChatBuilder:
    """The chats of these files, in an order that has nothing to do with how they came."""
    chats = ChatBuilder()
    for place in sorted(world, key=lambda place: place.file):
        chats.add(place, world[place])
    return chats


class Author:
    """Writes a small world of sessions, as odd as real ones are. Every choice is Hypothesis's."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._now = datetime(2026, 1, 5, 10, tzinfo=UTC)
        self._count = 0
        self.files: dict[TranscriptPlace, list[Row]] = {}
        self._place = TranscriptPlace("", None)

    def choose(self, *options: Any) -> Any:  # noqa: ANN401
        return self._draw(st.sampled_from(options))

    def number(self, least: int, most: int) -> int:
        return self._draw(st.integers(least, most))

    def write_world(self) -> dict[TranscriptPlace, list[Row]]:
        for number in range(self.number(1, 3)):
            session = session_uuid(f"S{number}")
            self._place = TranscriptPlace(f"{self.choose('a', 'b')}{number}.jsonl", session)
            history = self._copied_history(session)
            self.files[self._place] = history
            for _ in range(self.number(1, 5)):
                self.choose(*ACTIONS)(self)
        return self.files

    def _copied_history(self, session: str) -> list[Row]:
        earlier = [rows for place, rows in self.files.items() if place.agent_id is None and rows]
        how = self.choose("fresh", "closed", "open", "new uuids", "sdk fork", "backup") if earlier else "fresh"
        if how == "fresh":
            return []
        source: list[Row] = self.choose(*earlier)
        source = source[: self.number(1, len(source))]
        if how == "open":
            return list(source)
        if how == "backup":
            self._place = self._place._replace(session_id=source[0].get("sessionId"))
            return list(source)
        rows = [row | {"sessionId": session} if "sessionId" in row else row for row in source]
        if how == "sdk fork":
            return [
                self._renamed(row, session)
                | {"forkedFrom": {"sessionId": source[0].get("sessionId"), "messageUuid": row["uuid"]}}
                for row in rows
                if "uuid" in row
            ]
        moment = self._timestamp()
        rows = [row | {"timestamp": moment} if "timestamp" in row else row for row in rows]
        return [self._renamed(row, session) for row in rows] if how == "new uuids" else rows

    @staticmethod
    def _renamed(row: Row, session: str) -> Row:
        return row | {key: f"{session[:4]}-{row[key]}" for key in ("uuid", "parentUuid") if row.get(key)}

    def _timestamp(self) -> str:
        self._now += timedelta(seconds=self.choose(1, 1, 1, 400, -5))
        return self._now.isoformat().replace("+00:00", "Z")

    @property
    def rows(self) -> list[Row]:
        return self.files[self._place]

    def uuids(self) -> list[str]:
        return [row["uuid"] for row in self.rows if "uuid" in row]

    def last(self) -> str | None:
        uuids = self.uuids()
        return uuids[-1] if uuids else None

    def new_uuid(self) -> str:
        self._count += 1
        return f"u{self._count}"

    def put(self, kind: str, parent: str | None, **fields: object) -> str:
        """One more row of the chain."""
        uuid = self.new_uuid()
        row = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": self._place.session_id}
        self.rows.append(row | {"timestamp": self._timestamp(), "version": "2.1.42", "cwd": "/shop"} | fields)
        return uuid

    def put_outside(self, kind: str, **fields: object) -> None:
        self.rows.append({"type": kind, "sessionId": self._place.session_id} | fields)

    def say(self, parent: str | None, text: str, **fields: object) -> str:
        return self.put("user", parent, message={"role": "user", "content": text}, **fields)

    def answer(self, parent: str | None, *blocks: Row, message_id: str | None = None, **fields: object) -> str:
        content = list(blocks) or [{"type": "text", "text": "done"}]
        message = {"id": message_id or f"m{self._count}", "role": "assistant", "model": "claude-x", "content": content}
        return self.put("assistant", parent, message=message, **fields)

    def result(self, parent: str | None, call: str, **fields: object) -> str:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]
        return self.put("user", parent, message={"role": "user", "content": blocks}, **fields)

    # What a client does.

    def ask(self) -> None:
        prompt = self.say(self.last(), self.choose("one", "two", "<command-name>/cost</command-name>"))
        if self.choose(True, True, False):
            self.answer(prompt)

    def rewind(self) -> None:
        prompt = self.say(self.choose(None, *self.uuids()), "rather this")
        self.answer(prompt)
        if self.choose(True, False):
            self.put_outside("last-prompt", leafUuid=self.choose(None, NO_ROW, *self.uuids()), explicit=True)

    def use_tools_in_parallel(self) -> None:
        message_id = f"m-{self._count}"
        first = self.answer(self.last(), call(f"t{self._count}"), message_id=message_id)
        one = f"t{self._count - 1}"
        second = self.answer(first, call(f"t{self._count}", file_path="x.py"), message_id=message_id)
        two = f"t{self._count - 1}"
        self.result(second, two)
        if self.choose(True, False):
            self.put("progress", first, toolUseID=one, data={"type": "bash_progress"})
        self.result(first, one)
        self.answer(self.last())

    def compact(self) -> None:
        last = self.last()
        kept = None
        if last and self.choose(True, False):
            # The uuids of the rows to come are known: the summary, or the boundary itself.
            anchor = f"u{self._count + self.choose(1, 2)}"
            kept = {"headUuid": self.choose(*self.uuids()), "anchorUuid": anchor, "tailUuid": self.choose(last, "gone")}
        boundary = self.put(
            "system",
            None,
            subtype="compact_boundary",
            logicalParentUuid=self.choose(last, "gone"),
            compactMetadata={"preservedSegment": kept},
        )
        self.say(boundary, "what was said", isCompactSummary=True)

    def queue(self) -> None:
        text = self.choose("wait", "one")
        self.put_outside("queue-operation", operation="enqueue", content=text, timestamp=self._timestamp())
        operation = self.choose("remove", "dequeue", "popAll")
        self.put_outside("queue-operation", operation=operation, timestamp=self._timestamp())
        if self.choose(True, False):
            self.answer(self.last())
        if self.choose(True, False):
            self.say(self.last(), text)

    def hang_on_nothing(self) -> None:
        """A parent that is gone, that comes later, or the row itself."""
        later = f"u{self._count + self.number(1, 4)}"
        parent = self.choose("gone", later)
        self.choose(lambda: self.say(parent, "lost"), lambda: self.answer(parent))()

    def repeat(self) -> None:
        rows = [row for row in self.rows if "uuid" in row]
        if rows:
            row = dict(self.choose(*rows))
            if self.choose(True, False):
                row["timestamp"] = self._timestamp()
            if self.choose(True, False):
                row["parentUuid"] = self.choose(None, *self.uuids())
            self.rows.append(row)

    def start_agent(self) -> None:
        name = f"t{self._count}"
        prompt = self.choose("find it", f"find {name}")
        self.answer(self.last(), call(name, "Task", prompt=prompt))
        asked = self.uuids()[-1]
        agent = self.choose(f"acompact-{self._count}", f"x{self._count}", f"x{self._count}")
        if self.choose(True, False):  # among the rows of the session
            first = self.say(None, prompt, isSidechain=True)
            self.answer(first, isSidechain=True)
        else:
            main = self._place
            self._place = TranscriptPlace(f"{main.file}-{agent}.jsonl", self.choose(main.session_id, None), agent)
            self.files[self._place] = []
            first = self.say(None, prompt, isSidechain=True, agentId=agent, sessionId=main.session_id)
            self.answer(first, isSidechain=True, agentId=agent, sessionId=main.session_id)
            self._place = main
        self.result(asked, name, toolUseResult=self.choose({}, {"agentId": agent}))

    def name(self) -> None:
        self.choose(
            lambda: self.put_outside("custom-title", customTitle=self.choose("A", "B")),
            lambda: self.put_outside("tag", tag="T"),
            lambda: self.rows.append(
                {"type": "summary", "summary": self.choose("C", "D"), "leafUuid": f"u{self.number(1, 9)}"}
            ),
        )()

    def link(self) -> None:
        other = session_uuid(f"S{self.number(0, 2)}")
        if self.choose(True, False):
            self.put_outside("continued-in", continuedInSessionId=other)
        else:
            self.put_outside("derived-from", sessions=[other])


def call(name: str, tool: str = "Edit", **given: object) -> Row:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


ACTIONS: Final[Sequence[Callable[[Author], None]]] = (
    Author.ask,
    Author.ask,
    Author.ask,
    Author.rewind,
    Author.use_tools_in_parallel,
    Author.compact,
    Author.queue,
    Author.hang_on_nothing,
    Author.repeat,
    Author.start_agent,
    Author.name,
    Author.link,
)


@st.composite
def worlds(draw: st.DrawFn) -> dict[TranscriptPlace, list[Record]]:
    return {place: records_of(rows) for place, rows in Author(draw).write_world().items()}


def records_of(rows: Iterable[Row]) -> list[Record]:
    decoded = [decode_line(line(row)) for row in rows]
    records = [record for record in decoded if isinstance(record, Record)]
    assert len(records) == len(decoded)
    return records


class Growing:
    """Chats that grow beside a note of what they were given, to be built at once for comparison."""

    def __init__(self) -> None:
        self.chats = ChatBuilder()
        self.given: dict[TranscriptPlace, list[Record]] = {}

    def add(self, place: TranscriptPlace, records: Sequence[Record]) -> None:
        self.chats.add(place, records)
        self.given.setdefault(place, []).extend(records)

    def remove(self, place: TranscriptPlace) -> None:
        self.chats.remove(place.file)
        del self.given[place]

    def check(self) -> None:
        assert differences(describe(self.chats), describe(built_at_once(self.given))) == []


SLOW: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


@pytest.mark.slow
@settings(max_examples=2000 if TRY_ALL else 80, suppress_health_check=SLOW)
@given(world=worlds(), seed=st.integers(0, 2**32))
def test_any_split_of_any_files_gives_the_chats_that_are_built_at_once(
    world: dict[TranscriptPlace, list[Record]], seed: int
) -> None:
    random = Random(seed)  # drawing every step takes many times as long as what is tested
    growing = Growing()
    waiting = {place: list(records) for place, records in world.items()}
    while waiting:
        place = random.choice(sorted(waiting, key=str))
        count = random.choice([0, 1, 2, 3, len(waiting[place])])
        growing.add(place, waiting[place][:count])
        waiting[place] = waiting[place][count:]
        if not waiting[place]:
            del waiting[place]
        if random.random() < 0.3:
            growing.check()
    growing.check()


@pytest.mark.slow
@settings(max_examples=500 if TRY_ALL else 25, suppress_health_check=SLOW)
@given(world=worlds(), data=st.data())
def test_a_file_may_go_and_come_back_at_any_time(
    world: dict[TranscriptPlace, list[Record]], data: st.DataObject
) -> None:
    growing = Growing()
    for place, records in world.items():
        growing.add(place, records)
    if data.draw(st.booleans()):
        growing.check()
    gone = data.draw(st.sampled_from(sorted(world, key=str)))
    growing.remove(gone)
    if data.draw(st.booleans()):
        growing.check()
    cut = data.draw(st.integers(0, len(world[gone])))
    growing.add(gone, world[gone][:cut])
    growing.check()
    growing.add(gone, world[gone][cut:])
    growing.check()


def test_which_of_two_like_calls_an_agent_belongs_to_does_not_depend_on_what_came_first() -> None:
    asked = 'a{0} <- - call(m{0}) t{0} Task {{"prompt": "find it"}}'
    growing = Growing()
    late = draw(asked.format(2), session="S2", time="2026-01-06T10:00")
    late += draw("b <- - user: find it", session="S2", agent="inline", time="2026-01-06T10:01")
    growing.add(TranscriptPlace("S2", session_uuid("S2")), records_of(late))
    growing.add(TranscriptPlace("S1", session_uuid("S1")), records_of(draw("c <- - user: hello", session="S2")))
    growing.check()
    growing.add(TranscriptPlace("S1", session_uuid("S1")), records_of(draw(asked.format(1), session="S2")))
    growing.check()


def grow(*steps: tuple[str, str, str]) -> None:
    """Add rows to a session, drawn from a time on, and look after each step."""
    growing = Growing()
    for session, time, drawing in steps:
        rows = draw(drawing, session=session, time=f"2026-01-05T{time}")
        growing.add(TranscriptPlace(session, session_uuid(session)), records_of(rows))
        growing.check()


def test_a_row_known_only_by_its_copy_gets_its_title_in_either_order() -> None:
    """The row itself is in a file that is gone: a fork has a copy of it, and another session goes on from it."""
    origin = {"sessionId": session_uuid("S0"), "messageUuid": "gone"}
    steps: list[tuple[str, Row]] = [
        ("S2", {"type": "summary", "summary": "Carts", "leafUuid": "gone"}),
        ("S1", {"type": "user", "uuid": "a", "forkedFrom": origin, "message": {"role": "user", "content": "one"}}),
        ("S1", {"type": "user", "uuid": "b", "parentUuid": "gone", "message": {"role": "user", "content": "two"}}),
    ]
    for order in permutations(steps):
        growing = Growing()
        for session, row in order:
            growing.add(TranscriptPlace(session, session_uuid(session)), records_of([row]))
        growing.check()
        assert [chat.title for chat in growing.chats.chats() if chat.messages] == ["Carts"]


SAID_TWICE: Final = {
    "an answer": "assistant(m1): done",
    "a result": "result t1: done",
    "an answer of an agent": 'assistant(m1): done {"isSidechain": true}',
}


@pytest.mark.parametrize("said", SAID_TWICE.values(), ids=SAID_TWICE.keys())
def test_what_sessions_of_one_chat_both_say_is_a_copy_however_they_began(said: str) -> None:
    grow(
        ("S1", "10:00", "a <- gone user: one"),
        ("S2", "11:00", f"b <- gone user: two\nc <- b {said}"),
        ("S1", "10:01", f"d <- a {said}"),
    )


def test_sessions_in_which_nothing_was_typed_may_have_the_same_answers() -> None:
    grow(
        ("S1", "10:00", "a <- - compact(logical=gone)"),
        ("S2", "11:00", "b <- - compact(logical=gone)\nc <- b assistant(m1): done"),
        ("S1", "10:01", "d <- a assistant(m1): done"),
    )


def test_a_session_may_be_known_before_its_first_row_and_then_say_what_another_says() -> None:
    grow(
        ("S1", "10:00", "custom-title: The first"),
        ("S2", "11:00", f'a <- - user: two {{"sessionId": "{session_uuid("S1")}"}}\nb <- a assistant(m1): done'),
        ("S1", "10:01", "c <- - user: one"),
        ("S1", "10:02", "d <- c assistant(m1): done"),
    )


def test_a_row_may_turn_out_to_be_the_original_of_one_before_the_rest_of_a_message() -> None:
    begun = "a <- - user: one\nb <- a assistant(m1): well"
    grow(
        ("S1", "10:00:00", begun),
        ("S2", "10:00:00", f"{begun}\nc <- b meta: look\nd <- c assistant(m1): done"),
        ("S1", "10:00:02", "e <- b meta: look"),
    )


def test_which_rows_are_copies_changes_with_which_of_two_sessions_ended_first() -> None:
    begun = "a <- - user: one\nb <- a assistant(m1): well"
    grow(
        ("S1", "10:00", f"{begun}\nc <- b user: more\nd <- c assistant(m1): done"),
        ("S2", "10:00", f"{begun}\ne <- b user: more\nf <- e user: next\ng <- f user: last"),
        ("S1", "10:01", "h <- d user: end"),
    )


def test_a_file_that_comes_back_starts_with_an_empty_queue() -> None:
    begun = """
        a <- - user: hello
        queue-operation enqueue: one
        queue-operation remove {"timestamp": "2026-01-05T10:01:00.000Z"}
        queue-operation enqueue: two
        queue-operation remove {"timestamp": "2026-01-05T10:02:00.000Z"}
        """
    growing = Growing()
    first, second = (TranscriptPlace(name, session_uuid(name)) for name in ("S1", "S2"))
    growing.add(second, records_of(draw(f"{begun}\nb <- a user: one\nc <- b user: two", session="S2")))
    growing.add(first, records_of(draw("a <- - user: hello") + long_session(2)))
    growing.remove(second)
    growing.add(second, records_of(draw(begun, session="S2")))
    growing.check()


@pytest.mark.parametrize("way", ["dequeue", "remove", "popAll"])
def test_a_saved_transcript_has_only_the_texts_that_are_in_the_queue_now(way: str) -> None:
    lines = "".join(f"queue-operation enqueue: text {at} of many\nqueue-operation {way}\n" for at in range(40))
    transcript = Transcript(TranscriptPlace("S1", session_uuid("S1")))
    transcript.add(records_of(draw("a <- - user: hello\n" + lines + "queue-operation enqueue: the last one")))
    saved = save(transcript)
    assert saved.count(b"text 7 of many") == (way == "remove"), "it may be in the id of a row"
    assert b"the last one" in saved


def growing_sessions(corpus: Path) -> list[Path]:
    return sorted(path for path in (corpus / "growing").iterdir() if path.is_dir())


def test_real_sessions_that_grow_are_those_that_are_read_at_once(corpus: Path, tmp_path: Path) -> None:
    chats = ChatBuilder()
    bookmarks: dict[Path, Bookmark] = {}
    steps = [(session.name, step) for session in growing_sessions(corpus) for step in sorted(session.iterdir())]
    assert len(steps) > 10
    for session, step in sorted(steps, key=lambda pair: pair[1].name):
        path = tmp_path / f"{session}.jsonl"
        path.write_bytes(step.read_bytes())
        place = TranscriptPlace(str(path), session)
        with Reading(path, bookmarks.get(path)) as reading:
            if reading.change.starts_over:
                chats.remove(place.file)
            for line in reading:
                chats.add(place, decoded(line.data or b""))
            bookmarks[path] = reading.bookmark
        whole = {
            TranscriptPlace(str(other), other.stem): [
                record for line in other.read_bytes()[: mark.offset].split(b"\n") for record in decoded(line)
            ]
            for other, mark in bookmarks.items()
        }
        assert differences(describe(chats), describe(built_at_once(whole))) == []


def decoded(line: bytes) -> list[Record]:
    return [item for item in decode_all(line) if isinstance(item, Record)]


# What an addition costs, counted.


def long_session(turns: int) -> list[Row]:
    rows = draw("r0 <- - user: begin\nq0 <- r0 assistant: done")
    for number in range(1, turns):
        rows += draw(f"r{number} <- q{number - 1} user: go on\nq{number} <- r{number} assistant: done")
    return rows


ORDINARY: Final = {
    "a prompt": "new <- q2499 user: next",
    "an answer": "new <- q2499 assistant: next",
    "a tool result": "new <- q2499 result t1: fine",
    "a rewind": "new <- q12 user: rather this",
    "progress": "new <- q2499 progress bash_progress t1: half",
    "an attachment": "new <- q2499 attachment queued_command: and this",
    "a compaction": "new <- - compact(logical=q2499) auto",
    "a title": "custom-title: The long one",
    "a leaf": "last-prompt q12",
    "a copy in the same file": "q2499 <- r2499 assistant: done",
    "a prompt in the queue": "queue-operation enqueue: wait",
}


@pytest.fixture(scope="module")
def long_records() -> list[Record]:
    return records_of(long_session(2500))


@pytest.mark.parametrize("row", ORDINARY.values(), ids=ORDINARY.keys())
def test_one_more_record_of_a_long_session_does_not_rebuild_its_tree(
    long_records: list[Record], row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = ChatBuilder()
    place = TranscriptPlace("S1", session_uuid("S1"))
    chats.add(place, long_records)
    (before,) = chats.chats()
    monkeypatch.setattr(Tree, "of", _never)
    chats.add(place, records_of(draw(row, time="2026-01-06T10:00")))
    (after,) = chats.chats()
    assert after.tree is before.tree
    assert not after.tree.stale


def test_a_new_session_next_to_a_long_one_does_not_rebuild_its_tree(
    long_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = ChatBuilder()
    chats.add(TranscriptPlace("S1", session_uuid("S1")), long_records)
    trees = {chat.id: chat.tree for chat in chats.chats()}
    monkeypatch.setattr(Tree, "of", _never)
    chats.add(TranscriptPlace("S2", session_uuid("S2")), records_of(draw("a <- - user: hello", session="S2")))
    chats.add(TranscriptPlace("x", None, "x1"), records_of(draw("b <- - user: look", session="S1", agent="x1")))
    assert {chat.id: chat.tree for chat in chats.chats()}.items() >= trees.items()
    assert len(chats.chats()) == 2


def test_one_more_answer_in_a_chat_of_two_sessions_does_not_rebuild_its_tree(
    long_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = ChatBuilder()
    for name in ("S1", "S2"):
        chats.add(TranscriptPlace(name, session_uuid(name)), long_records)
    (before,) = chats.chats()
    monkeypatch.setattr(Tree, "of", _never)
    rows = draw("p <- q2499 user: next\nq <- p assistant: done", session="S2", time="2026-01-06T10:00")
    for record in records_of(rows):
        chats.add(TranscriptPlace("S2", session_uuid("S2")), [record])
        (after,) = chats.chats()
        assert after.tree is before.tree


def test_a_chat_to_which_nothing_was_added_is_the_same_chat() -> None:
    chats = ChatBuilder()
    chats.add(TranscriptPlace("S1", session_uuid("S1")), records_of(draw("a <- - user: one", session="S1")))
    chats.add(TranscriptPlace("S2", session_uuid("S2")), records_of(draw("b <- - user: two", session="S2")))
    before = {chat.id: chat for chat in chats.chats()}
    chats.add(TranscriptPlace("S2", session_uuid("S2")), records_of(draw("c <- b assistant: done", session="S2")))
    after = {chat.id: chat for chat in chats.chats()}
    assert after[session_uuid("S1")] is before[session_uuid("S1")]
    assert after[session_uuid("S2")] is not before[session_uuid("S2")]


def _never(*_: object) -> Tree:
    raise AssertionError("the tree was built anew")
