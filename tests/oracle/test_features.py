"""What users do, as six versions of the client wrote it: rewind, compact, resume, fork, branch, queue, interrupt.

Each case is a version and a scenario of `scripts/record-transcripts`. What is expected was typed and seen there; it
is the same for every version but where the client itself wrote nothing. The features that only the newest client has
are in `test_agents`, `test_states`, `test_who_speaks` and `test_next_request`.
"""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.oracle.test_recordings import FIXTURES, RECORDINGS, VERSIONS
from tests.support.command import run_command


class Played(NamedTuple):
    """What there is after a scenario."""

    prompts: list[str]
    """On the active branch."""
    branches: int = 1
    compactions: int = 0
    agents: int = 0
    sessions: int = 1
    how: tuple[str, ...] = ()
    """How its second session came of the first: one of these."""
    states: tuple[str, ...] = ()
    """The states of its calls."""


APPLE, PEAR, PLUM = "What does an apple cost?", "And a pear?", "And a plum?"
FEATURES: Final = {
    "rewind": Played([APPLE, "Paint the door blue."], branches=2),
    "compaction": Played([APPLE, PEAR, "/compact", PLUM], compactions=1),
    "resume": Played([APPLE, PEAR, PLUM]),
    "fork": Played([APPLE, PEAR], sessions=2, how=("forked", "copied")),
    "branch": Played([APPLE, "/branch", PEAR], sessions=2, how=("branched", "forked")),
    "queued": Played(["Work for a moment.", PEAR], states=("done",)),
    "interrupt": Played(["Watch the prices.", "Tell me a long story.", PLUM], states=("interrupted",)),
    "agent": Played(["Let an agent count the fruit."], agents=1, states=("done", "done")),
}
CASES: Final = [
    (version, name, folder)
    for version in VERSIONS
    for name in FEATURES
    for folder in (RECORDINGS / version / name, FIXTURES / version / name)
    if folder.exists()
]


def test_every_feature_was_recorded_with_most_versions() -> None:
    recorded = {name: {version for version, one, _ in CASES if one == name} for name in FEATURES}
    assert {name: len(versions) for name, versions in recorded.items()} == {
        "rewind": 5, "compaction": 6, "resume": 4, "fork": 4, "branch": 2, "queued": 6, "interrupt": 6, "agent": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "name", "home"),
    [
        pytest.param(*case, id=f"{case[1]}-{case[0]}", marks=[pytest.mark.all] if case[0] in VERSIONS[1:-1] else [])
        for case in CASES
    ],
)
def test_what_was_done_is_what_is_shown(version: str, name: str, home: Path) -> None:
    def asked(*words: str) -> Any:  # noqa: ANN401 - JSON
        done = run_command(*words, "--json", "--home", home)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    expected = FEATURES[name]
    if name == "queued" and version.startswith("1.0"):  # these versions write it nowhere
        expected = expected._replace(prompts=expected.prompts[:1])
    (chat,) = asked("list")["chats"]
    told = asked("show", chat["id"], "--agents")
    typed = [said for said in told["messages"] if said["kind"] in ("prompt", "queued", "command")]
    assert [said["text"] for said in typed if said["branch"] == 1] == expected.prompts
    assert (chat["branches"], chat["compactions"], chat["agents"]) == (
        expected.branches, expected.compactions, expected.agents,
    )  # fmt: skip
    called = [call for said in told["messages"] for call in said["calls"]]
    called += [call for agent in told["agents"] for said in agent["messages"] for call in said["calls"]]
    if expected.states:
        assert tuple(call["state"] for call in called) == expected.states
    tree = run_command("tree", chat["id"], "--home", home).stdout
    if expected.how:
        assert len(chat["sessions"]) == expected.sessions
        assert any(how in tree for how in expected.how), tree
    if expected.branches == 1:
        assert "rewound" not in run_command("show", chat["id"], "--home", home).stdout.lower()
        assert asked("sql", "select count(*) from v_messages where abandoned")["rows"] == [[0]]
    else:
        (left,) = [said["text"] for said in asked("show", chat["id"], "--branch", "2")["messages"]
                   if said["kind"] == "prompt" and said["text"] not in expected.prompts]  # fmt: skip
        assert left == "Paint the door red."
