"""Random machines and rules: exactly what the raw files and the rules allow leaves, and nothing that is off."""

import random
import re
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.library.syncing.decisions import SessionDecisions
from backscroll.library.syncing.seen_projects import SeenProjects
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import OwnStream, new_segments, own_streams
from backscroll.sync.policy import EffectivePolicy, OrgRules, Policy, PolicyRule, SyncMode
from backscroll.sync.streams import first_head
from tests.library.policy_world import FULL, Rules, World, random_rules

PHASES = 3
POLICIES = 34
"""With the phases, some 100 cases for each machine."""


class Kept:
    """What backscroll keeps of a world, notes of it, and would send."""

    def __init__(self, world: World) -> None:
        self.world, self.now = world, 0.0

    def keep(self, machine: str = "laptop") -> None:
        with Writer(self.world.root / "archive") as writer:
            capture(writer, Home(self.world.home), machine)

    def look(self) -> tuple[Archive, SeenProjects]:
        """Look at everything that is new, two days after the last time."""
        self.now += 2 * 24 * 3600
        archive, seen = Archive(self.world.root / "archive"), SeenProjects(self.world.root / "sync", is_own, self.clock)
        seen.refresh(archive, is_complete=True)
        return archive, seen

    def clock(self) -> float:
        return self.now


def is_own(machine: str) -> bool:
    return machine == "laptop"


def policy_of(rules: Rules) -> Policy:
    made = [PolicyRule(rule.by, rule.pattern, SyncMode(rule.mode)) for rule in rules.rules]  # type: ignore[arg-type]
    return Policy(SyncMode(rules.default), tuple(made))


class Leaving:
    """What leaves of an archive. What a file comes to in a mode is looked at once."""

    def __init__(self, archive: Archive) -> None:
        self._archive, self._outgoing = archive, Outgoing(b"key")
        self._once: dict[tuple[int, int, SyncMode], str] = {}

    def numbers(self, decisions: SessionDecisions) -> tuple[set[int], set[int]]:
        """The numbers of the lines whose texts and uuids are in what leaves."""
        streams = own_streams(self._archive, is_own, decisions.mode_of, self._outgoing, decisions.lines_of)
        sent = "".join(map(self._text_of, streams))
        texts, uuids = re.findall(r"text<(\d+)>", sent), re.findall(r"uuid<(\d+)>", sent)
        return {int(number) for number in texts}, {int(number) for number in uuids}

    def _text_of(self, stream: OwnStream) -> str:
        key = (stream.file.number, stream.version.number, stream.mode)
        if stream.lines is not None or key not in self._once:
            head = first_head(stream.key(0))
            parts = new_segments(self._archive, stream, self._outgoing, 0, head, 0)
            text = b"".join(part.segment.data for part in parts).decode()
            if stream.lines is not None:
                return text
            self._once[key] = text
        return self._once[key]


def check(root: Path, seed: int, policies: int) -> None:
    """One machine through some phases, under many rules."""
    choose = random.Random(seed)
    world = World(root, choose)
    kept = Kept(world)
    world.folders.append("/home/ada/other")
    for _ in range(choose.randint(0, 2)):  # of another machine, in the same folders
        world.session()
    world.home.mkdir(parents=True, exist_ok=True)
    kept.keep("desktop")
    for path in sorted({one.path for one in world.lines}):
        (world.home / path).unlink()
    world.lines.clear()
    world.grown.clear()
    world.build()
    rules = [(random_rules(choose, world), _org(choose, world)) for _ in range(policies)]
    for phase in range(PHASES):
        if phase:
            world.change()
        kept.keep()
        archive, seen = kept.look()
        world.look()
        leaving = Leaving(archive)
        for own, org in rules:
            effective = EffectivePolicy(policy_of(own), OrgRules("x", policy_of(org), "Acme"))
            may_leave = world.leaving(own, org)
            left = leaving.numbers(SessionDecisions(archive, is_own, effective, seen))
            assert left == may_leave, f"seed {seed}, phase {phase}: {own}, {org}: {_difference(world, left, may_leave)}"


def _org(choose: random.Random, world: World) -> Rules:
    return random_rules(choose, world, is_org=True) if choose.random() < 0.3 else Rules(FULL)


def _difference(
    world: World, left: tuple[set[int], set[int]], may_leave: tuple[set[int], set[int]]
) -> list[tuple[str, object]]:
    wrong = (left[0] ^ may_leave[0]) | (left[1] ^ may_leave[1])
    return [("left" if one.number in left[1] else "stayed", one) for one in world.lines if one.number in wrong]


@pytest.mark.parametrize("seed", range(20))
def test_exactly_what_rules_allow_leaves(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, POLICIES)


@pytest.mark.all
@pytest.mark.parametrize("batch", range(10))
def test_exactly_what_rules_allow_leaves_of_many_machines(tmp_path: Path, batch: int) -> None:
    for seed in range(1000 + 20 * batch, 1020 + 20 * batch):
        check(tmp_path / str(seed), seed, POLICIES)
