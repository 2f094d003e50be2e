"""The soak and follow benchmarks record correctly what they write; otherwise their findings mean nothing."""

import json
from itertools import pairwise
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any

from bench.follow import last_row, make_long_session, unique_word
from bench.generate import Mix, generate
from bench.generator.play import _latest_sound_sessions
from bench.soak import SESSIONS_EACH, WORD, SessionWriter, Soak


def test_every_word_is_unique() -> None:
    words = {unique_word(number) for number in range(20_000)}

    assert len(words) == 20_000
    assert all(WORD.fullmatch(word.encode()) for word in words)


def test_every_word_is_in_the_file_that_the_ledger_names(tmp_path: Path) -> None:
    generate(tmp_path, sessions=14, total_bytes=700_000, mix=Mix(problems=0.0))
    ledger: Queue[Any] = Queue()
    writer = SessionWriter(tmp_path, 0, _latest_sound_sessions(tmp_path, SESSIONS_EACH), ledger)  # type: ignore[arg-type]

    for number in range(1, 1500):
        writer._step()
        if number % 60 == 0:
            writer._apply_next_event()
    for session in writer.sessions:
        writer._finish(session)
    soak = Soak(tmp_path, tmp_path / "library")
    soak.take(ledger, 0.5)  # type: ignore[arg-type]

    files = {str(path): path.read_bytes() for path in tmp_path.glob("projects/**/*.jsonl")}
    assert len(soak.events) == 9
    assert len(soak.words) > 20
    for name, word in soak.words.items():
        count = files.get(word.path, b"").count(name.encode())
        is_gone = word.state in ("cut", "emptied") or not files.get(word.path)
        assert count == (0 if is_gone else 1)
        if not word.copies:
            assert sum(content.count(name.encode()) for content in files.values()) == count
    for content in files.values():
        assert all(json.loads(line) for line in content.splitlines())


def test_a_long_session_has_as_many_records_as_asked_for(tmp_path: Path) -> None:
    generate(tmp_path, sessions=3, total_bytes=60_000, mix=Mix(problems=0.0))

    path = make_long_session(tmp_path, 200, Random(1))

    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert len(rows) == 200
    assert all(row["parentUuid"] == before["uuid"] for before, row in pairwise(rows))
    assert last_row(path)["uuid"] == rows[-1]["uuid"]
