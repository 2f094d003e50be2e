import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.files.discovery import HomeFile, Omission, Unreadable, discover, find, look
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind, LeftOut
from tests.support.drawings import session_uuid
from tests.support.homes import CANARY, EVERYTHING, FAMILIES, SECRETS, session_path, write_home

# What is found in each family, drawn: `PATH: KIND session agent`, or `PATH: left out, REASON`. In the paths `shop` is
# the project's folder, `<name>` the id of the session with this name, and `<name->` the beginning of that id.
FOUND = {
    "1.0 resume copies": """
        shop/<old-begun>.jsonl: session old-begun -
        shop/<old-kept>.jsonl: session old-kept -
        shop/<old-resumed>.jsonl: session old-resumed -
        shop/<old-titles>.jsonl: session old-titles -
        """,
    "2.0.28 agents beside": """
        shop/<beside>.jsonl: session beside -
        shop/agent-be11ce0.jsonl: agent - be11ce0
        shop/agent-be3a4b1.jsonl: agent - be3a4b1
        shop/sessions-index.json: sessions-index - -
        """,
    "2.1.2 session folders": """
        shop/<folder>.jsonl: session folder -
        shop/<folder>/subagents/agent-f01aaaa.jsonl: agent folder f01aaaa
        shop/<folder>/subagents/agent-f01aaaa.meta.json: agent-meta folder f01aaaa
        shop/<folder>/subagents/agent-f01bbbb.jsonl: agent folder f01bbbb
        shop/<folder>/subagents/agent-f01bbbb.meta.json: agent-meta folder f01bbbb
        shop/<folder>/subagents/workflows/wf_5f0c0ffe-001/agent-f01cccc.jsonl: agent folder f01cccc
        shop/<folder>/subagents/workflows/wf_5f0c0ffe-001/agent-f01cccc.meta.json: agent-meta folder f01cccc
        shop/<folder>/subagents/workflows/wf_5f0c0ffe-001/journal.jsonl: workflow-journal folder -
        shop/<folder>/tool-results/fo-t2.txt: tool-result folder -
        shop/<folder>/tool-results/fo-t3.json: tool-result folder -
        shop/<folder>/tool-results/hook-5f0c-1: tool-result folder -
        """,
    "2.1.250 titles": """
        shop/<titled>.jsonl: session titled -
        shop/<titled>/archived.json: sidecar titled -
        shop/<titled>/custom-title.json: sidecar titled -
        """,
    "compacted": "shop/<compacted>.jsonl: session compacted -",
    "forks": """
        shop/<branched>.jsonl: session branched -
        shop/<cleared>.jsonl: session cleared -
        shop/<fork-first>.jsonl: session fork-first -
        shop/<fork-second>.jsonl: session fork-second -
        projects/-home-ada-store/<moved>.jsonl: session moved -
        """,
    "folder names": """
        projects/-home-ada-b-c/.session-aliases: session-aliases - -
        projects/-home-ada-b-c/<dash>.jsonl: session dash -
        projects/-home-ada-b-c/<slash>.jsonl: session slash -
        projects/-home-ada-Gr--e---/<umlaut>.jsonl: session umlaut -
        projects/-home-ada-my-shop-v2/<dotted>.jsonl: session dotted -
        projects/-home-ada-a-very-long-folder-name-a-very-long-folder-name-a-very-long-folder-name-a-very-long-folder\
-name-a-very-long-folder-name-a-very-long-folder-name-a-very-long-folder-name-a-very-long-folder-nam-sxhrd2\
/<long>.jsonl: session long -
        projects/C--Users-ada-shop/<windows>.jsonl: session windows -
        projects/c--Users-ada-shop/<windows-lower>.jsonl: session windows-lower -
        """,
    "sidecars": """
        shop/<sidecars>.jsonl: session sidecars -
        shop/<sidecars>/mcp-tasks/task-1.json: sidecar sidecars -
        shop/<sidecars>/precompact.json: sidecar sidecars -
        shop/<sidecars>/resume-head.jsonl: sidecar sidecars -
        shop/<sidecars>/sent-prefix.json: sidecar sidecars -
        shop/<sidecars>/terminal.cast: sidecar sidecars -
        shop/<sidecars>/world.jsonl: sidecar sidecars -
        shop/memory/MEMORY.md: memory - -
        shop/memory/style.md: memory - -
        """,
    "set aside": """
        shop/<aside>.jsonl: session aside -
        shop/<aside>.jsonl.compact.tmp.9f3c: left out, set aside
        shop/<aside>.jsonl.superseded-1767607200000: left out, set aside
        shop/<aside>.orphaned-1767607200000-9f3c.jsonl: left out, set aside
        shop/notes.jsonl: left out, other
        """,
    "home files": """
        __store.db: database - -
        shop/<busy>.jsonl: session busy -
        shop/<busy>/workflows/scripts/wf_5f0c0ffe-002.js: sidecar busy -
        shop/<busy>/workflows/wf_5f0c0ffe-002.json: sidecar busy -
        jobs/<busy->/state.json: job busy- -
        jobs/<busy->/timeline.jsonl: job busy- -
        jobs/<busy->/tmp: left out, other
        jobs/pins.json: job - -
        file-history/<busy>/d3d2d6f1b224b14d@v1: file-history busy -
        history.jsonl: history - -
        image-cache/<busy>/1.png: image busy -
        paste-cache/9f3c.txt: paste - -
        plans/brave-drawing-heron.md: plan - -
        sessions/99999999.json: live-session - -
        stats-cache.json: statistics - -
        tasks/<busy>/1.json: task busy -
        tasks/<busy>/2.json: task busy -
        teams/session-<busy->/inboxes/lead.json: team busy- -
        teams/shop-team/config.json: team - -
        todos/<busy>-agent-<busy>.json: todo busy <busy>
        usage-data/session-meta/<busy>.json: statistics - -
        """,
    "secrets": """
        .credentials.json: left out, secret
        .session_ingress_token: left out, secret
        hfi-auth.json: left out, secret
        policy-limits.json: left out, secret
        remote-settings.json: left out, secret
        sessions/1.key: left out, secret
        """,
    "empty": """
        shop/<empty>.jsonl: session empty -
        shop/<only-a-title>.jsonl: session only-a-title -
        shop/<rewound-to-nothing>.jsonl: session rewound-to-nothing -
        """,
    "damaged": "shop/<damaged>.jsonl: session damaged -",
}

SESSIONS = {session_uuid(name): name for name in re.findall(r"<([a-z-]*[a-z])>", "".join(FOUND.values()))}
SESSIONS |= {identity[:8]: f"{name}-" for identity, name in SESSIONS.items()}


def named(text: str) -> str:
    """Return the text with the names of sessions for their ids."""
    for identity, name in SESSIONS.items():
        text = text.replace(identity, f"<{name}>")
    return text.replace("projects/-home-ada-shop/", "shop/")


def drawn(home: Path, found: HomeFile | Omission | Unreadable) -> str:
    path = named(found.path.relative_to(home).as_posix())
    if isinstance(found, Unreadable):
        return f"{path}: unreadable, {found.reason}"
    if isinstance(found, Omission):
        return f"{path}: left out, {found.reason}"
    place = found.place
    session = SESSIONS.get(place.session_id or place.session_start or "-", "-")
    return f"{path}: {place.kind} {session} {named(place.agent_id or '-')}"


def check(home: Path, expected: str) -> None:
    """Check what is found in a home and what is left out."""
    assert sorted(drawn(home, found) for found in find(Home(home))) == sorted(
        line.strip() for line in expected.strip().split("\n") if line.strip()
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_in_a_home_is_known_by_its_place(family: str, tmp_path: Path) -> None:
    check(write_home(tmp_path, FAMILIES[family]), FOUND[family])


def test_all_families_in_one_home_are_distinguished(tmp_path: Path) -> None:
    check(write_home(tmp_path, EVERYTHING), "\n".join(FOUND.values()))


def test_what_was_found_lies_in_its_list_in_the_order_of_the_paths(tmp_path: Path) -> None:
    home = Home(write_home(tmp_path, EVERYTHING))
    discovery = discover(home)
    assert discovery.home == home
    assert discovery.files == [found for found in find(home) if isinstance(found, HomeFile)]
    assert discovery.left_out == [found for found in find(home) if isinstance(found, Omission)]
    order = [file.relative.split("/") for file in discovery.files]
    assert order == sorted(order)
    assert discovery.unreadable == []


def test_a_file_says_where_and_what_it_is(tmp_path: Path) -> None:
    write_home(tmp_path, {session_path("empty"): "12345"})
    (file,) = discover(Home(tmp_path)).files
    status = (tmp_path / session_path("empty")).stat()
    assert (file.path, file.relative) == (tmp_path / session_path("empty"), session_path("empty"))
    assert (file.size, file.modified_ns, file.changed_ns) == (5, status.st_mtime_ns, status.st_ctime_ns)
    assert file.identity == (status.st_dev, status.st_ino)


def test_the_project_folder_is_the_one_under_projects(tmp_path: Path) -> None:
    for file in discover(Home(write_home(tmp_path, EVERYTHING))).files:
        top, *inside = file.relative.split("/")
        assert file.place.project_folder == (inside[0] if top == "projects" else None)


def test_finding_opens_no_file_but_the_database(tmp_path: Path, opened: list[str]) -> None:
    write_home(tmp_path, EVERYTHING)
    opened.clear()
    discover(Home(tmp_path))
    database = str(tmp_path / "__store.db")
    assert {Path(path) for path in opened} <= {Path(database), Path(f"{database}-wal")}
    opened.clear()
    (tmp_path / "history.jsonl").read_bytes()
    assert opened == [str(tmp_path / "history.jsonl")], "the ear is deaf"


def test_secrets_are_left_out_and_never_files_of_ours(tmp_path: Path) -> None:
    discovery = discover(Home(write_home(tmp_path, EVERYTHING)))
    left_out = {found.path.relative_to(tmp_path).as_posix() for found in discovery.left_out}
    assert left_out >= SECRETS
    assert not any(CANARY.encode() in file.path.read_bytes() for file in discovery.files)
    assert [look(Home(tmp_path), tmp_path / secret) for secret in SECRETS] == [None] * len(SECRETS)


def test_a_linked_session_is_left_out(tmp_path: Path) -> None:
    outside = write_home(tmp_path / "outside", {"secret": CANARY})
    home = write_home(tmp_path / "home", {session_path("compacted"): ""})
    (home / session_path("damaged")).symlink_to(outside / "secret")
    check(home, "shop/<compacted>.jsonl: session compacted -\nshop/<damaged>.jsonl: left out, link")
    assert look(Home(home), home / session_path("damaged")) is None


def test_a_linked_project_folder_is_left_out(tmp_path: Path) -> None:
    outside = write_home(tmp_path / "outside", {f"{session_uuid('damaged')}.jsonl": ""})
    home = write_home(tmp_path / "home", {session_path("compacted"): ""})
    (home / "projects" / "linked").symlink_to(outside)
    check(home, "shop/<compacted>.jsonl: session compacted -\nprojects/linked: left out, link")


def test_a_look_at_one_file_does_not_go_through_a_linked_folder_either(tmp_path: Path) -> None:
    outside = write_home(tmp_path / "outside", {"agent-a.jsonl": ""})
    home = write_home(tmp_path / "home", {"projects/real/agent-b.jsonl": ""})
    (home / "projects" / "linked").symlink_to(outside)
    assert look(Home(home), home / "projects" / "real" / "agent-b.jsonl") is not None
    assert look(Home(home), home / "projects" / "linked" / "agent-a.jsonl") is None


def test_projects_may_itself_be_a_link(tmp_path: Path) -> None:
    write_home(tmp_path / "disk", {"-home-ada-shop/agent-a.jsonl": ""})
    home = tmp_path / "home"
    home.mkdir()
    (home / "projects").symlink_to(tmp_path / "disk")
    check(home, "shop/agent-a.jsonl: agent - a")
    assert look(Home(home), home / "projects" / "-home-ada-shop" / "agent-a.jsonl") is not None


@pytest.mark.parametrize("target", ["nowhere", "projects"])
def test_a_link_that_leads_nowhere_spoils_nothing(target: str, tmp_path: Path) -> None:
    write_home(tmp_path, {"history.jsonl": ""})
    (tmp_path / "projects").symlink_to(target)
    assert [file.relative for file in discover(Home(tmp_path)).files] == ["history.jsonl"]


def test_only_regular_files_are_found_and_others_do_not_block(tmp_path: Path) -> None:
    write_home(tmp_path, {session_path("compacted"): ""})
    os.mkfifo(tmp_path / session_path("damaged"))
    check(tmp_path, "shop/<compacted>.jsonl: session compacted -\nshop/<damaged>.jsonl: left out, not a regular file")
    assert look(Home(tmp_path), tmp_path / session_path("damaged")) is None


def test_a_folder_named_like_a_session_is_looked_into(tmp_path: Path) -> None:
    name = session_path("damaged")
    write_home(tmp_path, {f"{name}/agent-a.jsonl": ""})
    check(tmp_path, "shop/<damaged>.jsonl/agent-a.jsonl: left out, other")


def test_unknown_folders_are_not_searched(tmp_path: Path) -> None:
    write_home(tmp_path, {"debug/agent-a.jsonl": "", "shell-snapshots/x.sh": "", "settings.json": ""})
    check(tmp_path, "")
    assert look(Home(tmp_path), tmp_path / "debug" / "agent-a.jsonl") is None


def test_a_home_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert discover(Home(tmp_path / "no")).unreadable == [Unreadable(tmp_path / "no", "No such file or directory")]


def test_a_home_that_is_a_file_is_reported(tmp_path: Path) -> None:
    write_home(tmp_path, {"file": ""})
    assert discover(Home(tmp_path / "file")).unreadable == [Unreadable(tmp_path / "file", "Not a directory")]


def test_a_folder_that_cannot_be_listed_is_reported_and_costs_only_itself(tmp_path: Path) -> None:
    """Not even root can name a folder whose path is longer than the system allows."""
    write_home(tmp_path, {"projects/a/agent-a.jsonl": "", "projects/c/agent-c.jsonl": ""})
    deepen(tmp_path / "projects" / "b", "d" * 250, times=20)
    discovery = discover(Home(tmp_path))
    assert [file.place.agent_id for file in discovery.files] == ["a", "c"]
    (unreadable,) = discovery.unreadable
    assert unreadable.reason == "File name too long"
    assert unreadable.path.is_relative_to(tmp_path / "projects" / "b")


def test_a_folder_that_may_not_be_listed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_home(tmp_path, {"projects/a/agent-a.jsonl": "", "projects/b/agent-b.jsonl": ""})
    scan = os.scandir

    def refuse(folder: Path) -> Iterator[os.DirEntry[str]]:  # as for all but root, who may list everything
        if Path(folder) == tmp_path / "projects" / "a":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    discovery = discover(Home(tmp_path))
    assert discovery.unreadable == [Unreadable(tmp_path / "projects" / "a", "Permission denied")]
    assert [file.place.agent_id for file in discovery.files] == ["b"]


def test_folders_in_folders_without_end_are_no_end_of_us(tmp_path: Path) -> None:
    write_home(tmp_path, {"projects/a/agent-a.jsonl": ""})
    deepen(tmp_path / "projects" / "b", "d", times=1100)
    try:
        assert [file.place.agent_id for file in discover(Home(tmp_path)).files] == ["a"]
    finally:
        level(tmp_path / "projects" / "b", "d")


def test_a_name_that_is_not_utf8_is_found_all_the_same(tmp_path: Path) -> None:
    write_home(tmp_path, {os.fsdecode(b"projects/caf\xe9/agent-a.jsonl"): ""})
    (file,) = discover(Home(tmp_path)).files
    assert file.path.read_bytes() == b""


def test_find_can_be_limited_to_a_folder(tmp_path: Path) -> None:
    write_home(tmp_path, EVERYTHING)
    home = Home(tmp_path)
    below = list(find(home, below=tmp_path / "projects" / "-home-ada-b-c"))
    assert below == [found for found in find(home) if found.path.parent.name == "-home-ada-b-c"]
    assert len(below) == 3


def test_a_look_at_one_file_finds_what_a_look_at_all_finds(tmp_path: Path) -> None:
    home = Home(write_home(tmp_path, EVERYTHING))
    discovery = discover(home)
    assert [look(home, file.path) for file in discovery.files] == discovery.files
    assert [look(home, found.path) for found in discovery.left_out] == [None] * len(discovery.left_out)
    assert look(home, tmp_path / session_path("not-there")) is None
    assert look(home, tmp_path / "projects") is None


def test_no_file_of_the_real_sessions_is_overlooked(corpus: Path) -> None:
    discovery = discover(Home(corpus / "home"))
    transcripts = {file.path for file in discovery.files if file.kind in (FileKind.SESSION, FileKind.AGENT)}
    assert transcripts == set((corpus / "home").rglob("*.jsonl"))
    assert LeftOut.SECRET not in {found.reason for found in discovery.left_out}


def deepen(folder: Path, name: str, times: int) -> None:
    """Make a folder in a folder in a folder; one by one, since no path leads to the last."""
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(times):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


def level(folder: Path, name: str) -> None:
    """Take it away again, from the top: what cleans up after us would not get to its end either."""
    while (folder / name).exists():
        (folder / name).rename(folder.with_name("inner"))
        folder.rmdir()
        folder.with_name("inner").rename(folder)
