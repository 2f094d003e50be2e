"""What may leave is decided session by session, by every folder in its rows and every git remote ever seen there."""

import json
import os
import shutil
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.library.git_remotes import git_remotes
from backscroll.library.syncing.decisions import Decision, SessionDecisions
from backscroll.library.syncing.noted_projects import FILE
from backscroll.library.syncing.seen_projects import SeenProjects
from backscroll.sync.policy import EffectivePolicy, OrgRules, Policy, PolicyRule, RanIn, SyncMode, path_matches

FULL, REDACTED, METRICS, OFF = SyncMode
NO_ORG = OrgRules()
ID = "11111111-1111-4111-8111-{:012}"
ACME_OFF = Policy(REDACTED, (PolicyRule("remote", "github.com/acme/*", OFF),))
ONLY_ACME = Policy(OFF, (PolicyRule("remote", "github.com/acme/*", REDACTED),))


class Machine:
    """A home, clones, an archive, and what was noted."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.now = root, root / "home", 0.0
        (self.home / "projects").mkdir(parents=True)

    def session(self, number: int, *cwds: str | Path, folder: str = "-work", more: str = "") -> None:
        rows = "".join(json.dumps({"type": "user", "cwd": str(cwd)}) + "\n" for cwd in cwds)
        self.write(f"projects/{folder}/{ID.format(number)}.jsonl", rows + more)

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as open_file:
            open_file.write(text)

    def clone(self, name: str, config: str = "") -> Path:
        place = self.root / "work" / name
        (place / ".git").mkdir(parents=True, exist_ok=True)
        (place / ".git" / "config").write_text(config or remote("origin", f"git@github.com:{name}.git"))
        return place

    def keep(self, machine: str = "laptop") -> None:
        with Writer(self.root / "archive") as writer:
            capture(writer, Home(self.home), machine)

    def decisions(self, policy: Policy, org: OrgRules = NO_ORG) -> SessionDecisions:
        archive, effective = Archive(self.root / "archive"), EffectivePolicy(policy, org)
        evidence = SeenProjects(self.root / "sync", is_own, lambda: self.now)
        evidence.refresh(archive, is_complete=not effective.is_uniform)
        return SessionDecisions(archive, is_own, effective, evidence)

    def decide(self, policy: Policy, path: str | int = 1, org: OrgRules = NO_ORG) -> Decision:
        self.keep()
        return self.decisions(policy, org).of(self.file(path))

    def file(self, path: str | int) -> KeptFile:
        end = f"{ID.format(path)}.jsonl" if isinstance(path, int) else path
        archive = Archive(self.root / "archive")
        return next(one for one in archive.files.values() if one.path.endswith(end) and is_own(one.machine))


def is_own(machine: str) -> bool:
    return machine == "laptop"


def remote(name: str, url: str) -> str:
    return f'[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/{name}/*\n'


def paths(*patterns: str) -> Policy:
    return Policy(REDACTED, tuple(PolicyRule("path", pattern, OFF) for pattern in patterns))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_two_projects_that_share_a_folder_are_decided_one_by_one(machine: Machine) -> None:
    machine.session(1, "/home/ada/client-x", folder="-home-ada-client-x")
    machine.session(2, "/home/ada/client/x", folder="-home-ada-client-x")
    policy = paths("/home/ada/client/*")
    assert machine.decide(policy, 1).mode is REDACTED
    assert machine.decide(policy, 2).mode is OFF


def test_a_session_of_another_machine_decides_nothing(machine: Machine) -> None:
    machine.session(1, "/home/ada/shop")
    machine.keep("desktop")
    (machine.home / "projects/-work" / f"{ID.format(1)}.jsonl").unlink()
    machine.session(2, "/home/ada/client")
    assert machine.decide(paths("/home/ada/client"), 2).mode is OFF
    machine.write("projects/-work/memory/MEMORY.md", "x")
    assert machine.decide(paths("/home/ada/shop"), "MEMORY.md").mode is REDACTED


def test_the_strictest_folder_of_a_session_decides_about_all_that_belongs_to_it(machine: Machine) -> None:
    policy = paths("/home/ada/client")
    machine.session(1, "/home/ada/shop")
    belonging = [
        f"projects/-work/{ID.format(1)}/subagents/agent-a.jsonl",
        f"projects/-work/{ID.format(1)}/tool-results/x.txt",
        f"todos/{ID.format(1)}-agent-a.json",
        f"file-history/{ID.format(1)}/0123456789abcdef@v1",
        f"tasks/{ID.format(1)}/1.json",
    ]
    for path in belonging:
        machine.write(path, "{}\n")
    assert machine.decide(policy).mode is REDACTED
    assert {machine.decide(policy, path).mode for path in belonging} == {REDACTED}
    machine.write(belonging[0], json.dumps({"cwd": "/home/ada/client/src"}) + "\n")
    decision = machine.decide(policy)
    assert (decision.mode, decision.cwds) == (OFF, ("/home/ada/client/src", "/home/ada/shop"))
    assert decision.reason == "your rule for the folder /home/ada/client"
    assert {machine.decide(policy, path).mode for path in belonging} == {OFF}


def test_what_has_the_beginning_of_a_session_as_its_name_is_decided_with_it(machine: Machine) -> None:
    policy = paths("/home/ada/client")
    for name, cwd in {"aaaaaaaa": "/home/ada/shop", "bbbbbbbb": "/home/ada/client"}.items():
        machine.write(f"projects/-work/{name}{ID.format(1)[8:]}.jsonl", json.dumps({"cwd": cwd}) + "\n")
        machine.write(f"teams/session-{name}/inboxes/lead.json", "[]")
        machine.write(f"jobs/{name}/timeline.jsonl", "{}\n")
    machine.write("jobs/pins.json", "[]")
    machine.write("teams/mine/inboxes/lead.json", "[]")
    modes = {
        path: machine.decide(policy, path).mode
        for path in (
            "session-aaaaaaaa/inboxes/lead.json",
            "aaaaaaaa/timeline.jsonl",
            "session-bbbbbbbb/inboxes/lead.json",
            "bbbbbbbb/timeline.jsonl",
            "pins.json",
            "mine/inboxes/lead.json",
        )
    }
    assert list(modes.values()) == [REDACTED, REDACTED, OFF, OFF, OFF, OFF]


def test_a_job_is_decided_by_every_session_that_it_names(machine: Machine) -> None:
    """It may have a copy of the session that it was made from, which ran somewhere else."""
    machine.session(1, "/home/ada/client")
    machine.write(f"projects/-work/aaaaaaaa{ID.format(1)[8:]}.jsonl", '{"cwd":"/home/ada/shop"}\n')
    machine.write("jobs/aaaaaaaa/parent-transcript.jsonl", json.dumps({"sessionId": ID.format(1)}) + "\n")
    machine.write("jobs/aaaaaaaa/state.json", json.dumps({"cwd": "/home/ada/shop"}, indent=2))
    assert machine.decide(paths("/home/ada/client"), "parent-transcript.jsonl").mode is OFF
    assert machine.decide(paths("/home/ada/client"), "state.json").mode is REDACTED


def test_an_agent_beside_its_session_belongs_to_it(machine: Machine) -> None:
    machine.session(1, "/home/ada/shop")
    machine.write(
        "projects/-work/agent-b.jsonl", json.dumps({"cwd": "/home/ada/client", "sessionId": ID.format(1)}) + "\n"
    )
    assert machine.decide(paths("/home/ada/client"), 1).mode is OFF
    assert machine.decide(paths("/home/ada/shop"), "agent-b.jsonl").mode is OFF


@pytest.mark.parametrize(
    "row",
    [
        '{"type":"user","cwd" : "/home/ada/client"}',
        '{"cwd":"/home/ada/shop","cwd":"/home/ada/client","cwd":"/home/ada/shop"}',
        '{"cwd":"/home/ada/cli\\u0065nt"}',
        '{"cwd":"/home/ada/client","torn',
    ],
    ids=["spaces", "twice", "escaped", "torn"],
)
def test_a_folder_is_seen_however_it_is_written(machine: Machine, row: str) -> None:
    machine.session(1, "/home/ada/shop", more=row)
    assert machine.decide(paths("/home/ada/client")).mode is OFF


def test_what_a_tool_said_about_a_folder_is_not_where_the_session_ran(machine: Machine) -> None:
    said = json.dumps({"cwd": "/home/ada/shop", "text": json.dumps({"cwd": "/home/ada/client"})})
    called = json.dumps({"cwd": "/home/ada/shop", "input": {"cwd": "/home/ada/client"}})
    machine.session(1, more=f"{said}\n{called}\n")
    assert machine.decide(paths("/home/ada/client")).cwds == ("/home/ada/shop",)


def test_a_session_that_moves_into_a_folder_that_is_off_is_off_from_then_on(machine: Machine) -> None:
    machine.session(1, "/home/ada/shop")
    assert machine.decide(paths("/home/ada/client")).mode is REDACTED
    machine.session(1, "/home/ada/client", "/home/ada/shop")
    assert machine.decide(paths("/home/ada/client")).mode is OFF
    (machine.home / "projects/-work" / f"{ID.format(1)}.jsonl").write_text('{"cwd":"/home/ada/shop"}\n')
    assert machine.decide(paths("/home/ada/client")).mode is OFF
    assert machine.decide(paths("/home/ada/other")).mode is REDACTED


def test_a_clone_is_known_after_it_was_moved_or_deleted(machine: Machine) -> None:
    clone = machine.clone("acme/shop")
    machine.session(1, clone / "src")
    (clone / "src").mkdir()
    assert machine.decide(ACME_OFF).mode is OFF
    shutil.rmtree(clone)
    decision = machine.decide(ACME_OFF)
    assert (decision.mode, decision.is_decided, decision.remotes) == (OFF, True, ("github.com/acme/shop",))
    machine.clone("acme/shop", remote("origin", "https://github.com/ada/shop"))
    (clone / "src").mkdir()
    machine.now += 1e9
    assert machine.decide(ACME_OFF).mode is OFF
    assert machine.decide(ONLY_ACME).mode is OFF


def test_a_remote_is_noted_before_there_is_any_rule(machine: Machine) -> None:
    clone = machine.clone("acme/shop")
    machine.session(1, clone)
    assert machine.decide(Policy()).mode is REDACTED
    shutil.rmtree(clone)
    decision = machine.decide(ACME_OFF)
    assert (decision.mode, decision.is_decided) == (OFF, True)


def test_a_remote_that_is_added_later_is_seen(machine: Machine) -> None:
    clone = machine.clone("acme/shop", remote("origin", "https://github.com/ada/shop"))
    machine.session(1, clone)
    assert machine.decide(ACME_OFF).mode is REDACTED
    machine.clone("acme/shop", remote("origin", "https://github.com/ada/shop") + remote("up", "github.com:acme/shop"))
    machine.now += 1e9
    assert machine.decide(ACME_OFF).mode is OFF


def test_what_cannot_be_decided_does_not_leave(machine: Machine) -> None:
    machine.session(1, "/home/ada/gone")
    decision = machine.decide(ACME_OFF)
    assert (decision.mode, decision.is_decided) == (OFF, False)
    assert "undecided" in decision.reason
    assert "/home/ada/gone" in decision.reason
    first = PolicyRule("path", "/home/ada/*", REDACTED)
    assert machine.decide(Policy(REDACTED, (first, *ACME_OFF.rules))).mode is REDACTED
    decision = machine.decide(Policy(REDACTED, (*ACME_OFF.rules, first)))
    assert (decision.mode, decision.is_decided) == (OFF, False)
    looser = Policy(REDACTED, (PolicyRule("remote", "github.com/ada/*", FULL),))
    assert machine.decide(looser).mode is REDACTED
    org = OrgRules("x", ACME_OFF, "Acme")
    decision = machine.decide(Policy(), org=org)
    assert (decision.mode, decision.is_decided, decision.is_held_back) == (OFF, False, True)
    assert "Acme's rule for the git remote github.com/acme/*" in decision.reason


def test_a_session_without_a_folder_follows_those_beside_it(machine: Machine) -> None:
    machine.write(f"projects/-work/{ID.format(1)}.jsonl", '{"type":"summary"}\n')
    decision = machine.decide(paths("/home/ada/client"))
    assert (decision.mode, decision.is_decided) == (OFF, False)
    assert machine.decide(Policy()).mode is REDACTED
    machine.session(2, "/home/ada/shop")
    assert machine.decide(paths("/home/ada/client")).mode is REDACTED
    machine.session(3, "/home/ada/client")
    assert machine.decide(paths("/home/ada/client")).mode is OFF


def test_what_mixes_projects_follows_the_strictest(machine: Machine) -> None:
    machine.session(1, "/home/ada/shop", folder="-shop")
    machine.session(2, "/home/ada/zoo", folder="-zoo")
    for path in ("plans/plan.md", "projects/-shop/memory/MEMORY.md"):
        machine.write(path, "x\n")
    policy = paths("/home/ada/zoo")
    assert machine.decide(policy, "plan.md").mode is OFF
    assert machine.decide(policy, "MEMORY.md").mode is REDACTED
    assert machine.decide(paths("/home/ada/other"), "plan.md").mode is REDACTED


def test_a_lost_note_is_made_again(machine: Machine) -> None:
    clone = machine.clone("acme/shop")
    machine.session(1, clone)
    assert machine.decide(ACME_OFF).mode is OFF
    (machine.root / "sync" / FILE).write_bytes(b"no database" * 100)
    assert machine.decide(ACME_OFF).mode is OFF


# Git remotes


def test_every_remote_of_a_clone_counts(machine: Machine) -> None:
    config = (
        remote("origin", "https://me:token@github.com/ada/shop.git")
        + '[remote "up"] url = "git@github.com:Acme/shop.git" ; theirs\n\tpushurl = ssh://git@git.example:22/x/y\n'
        + '[branch "main"]\n\tremote = https://gitlab.com/acme/direct\n[url "https://github.com/"]\n\tinsteadOf = gh:\n'
        + "[remote.old]\n\turl = gh:acme/old\n"
    )
    assert (git_remotes(str(machine.clone("shop", config))) or set()) == {
        "github.com/ada/shop", "github.com/acme/shop", "git.example/x/y", "gitlab.com/acme/direct", "gh/acme/old",
        "github.com/acme/old",
    }  # fmt: skip


def test_a_worktree_and_a_submodule_have_the_remotes_of_their_repository(machine: Machine) -> None:
    clone = machine.clone("acme/shop")
    tree, module = machine.root / "tree", clone / "vendor"
    tree.mkdir()
    module.mkdir()
    own = clone / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    (clone / ".git/modules/vendor").mkdir(parents=True)
    (clone / ".git/modules/vendor/config").write_text(remote("origin", "https://github.com/lib/vendor"))
    (module / ".git").write_text("gitdir: ../.git/modules/vendor\n")
    assert (git_remotes(str(tree)) or set()) == {"github.com/acme/shop"}
    assert (git_remotes(str(module)) or set()) == {"github.com/lib/vendor", "github.com/acme/shop"}
    assert git_remotes(str(clone / "missing")) is None
    shutil.rmtree(own)
    assert git_remotes(str(tree)) is None


def test_a_configuration_that_cannot_be_read_is_unknown_at_once(machine: Machine) -> None:
    for number, spoil in enumerate(("fifo", "huge", "folder", "none", "link")):
        config = machine.clone(f"shop{number}") / ".git" / "config"
        config.unlink()
        if spoil == "fifo":
            os.mkfifo(config)
        elif spoil == "huge":
            config.write_bytes(b"#" * 2_000_000)
        elif spoil == "folder":
            config.mkdir()
        elif spoil == "link":
            config.symlink_to("/dev/zero")
        assert git_remotes(str(config.parent.parent)) is None
    fifo = machine.root / "x"
    fifo.mkdir()
    os.mkfifo(fifo / ".git")
    assert git_remotes(str(fifo)) is None
    for odd in ("", ".", "x", "\0", "/" + "x" * 5000, "C:\\shop", "/dev/null"):
        assert git_remotes(odd) is None


# Paths


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("C:\\Users\\Ada\\Client\\x", "c:/users/ada/client", True),
        ("c:/Users/ada/client", "C:\\Users\\Ada\\Client\\", True),
        ("\\\\?\\C:\\client", "C:/client", True),
        ("\\\\nas\\client\\x", "//nas/client", True),
        ("/home/ada/Client", "/home/ada/client", False),
        ("/home/ada/client-x", "/home/ada/client", False),
        ("/home/ada//client/../client/x", "/home/ada/client", True),
        ("/work/app/[slug]/x", "/work/app/[slug]", True),
        ("/home/ada/cafe\u0301/x", "/home/ada/caf\u00e9", True),
        ("/anything", "/", True),
    ],
)
def test_a_folder_matches_a_pattern_as_its_system_compares_paths(path: str, pattern: str, matches: bool) -> None:
    assert path_matches(path, pattern) is matches


def test_every_remote_and_its_absence_count_and_the_strictest_holds() -> None:
    rules = (PolicyRule("remote", "github.com/acme/*", METRICS), PolicyRule("remote", "github.com/ada/*", FULL))
    both = frozenset({"github.com/acme/shop", "github.com/ada/shop"})
    assert Policy(REDACTED, rules).verdict_on(RanIn("/x", both, was_bare=False)).mode is METRICS
    assert (
        Policy(REDACTED, rules).verdict_on(RanIn("/x", frozenset({"github.com/ada/x"}), was_bare=True)).mode is REDACTED
    )
