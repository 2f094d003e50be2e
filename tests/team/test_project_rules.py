"""Rules of an organisation about what machines may send: set on a page, fetched by machines, obeyed and explained."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.sync.http_remote import RulesChangedError, ToldProject
from backscroll.sync.policy import (
    EffectivePolicy,
    OrgRules,
    Policy,
    PolicyRule,
    Project,
    RanIn,
    SyncMode,
    strictest_first,
)
from backscroll.team.arrival.device_routes import LARGEST_LIST
from tests.support.command import place_options, run_command
from tests.support.homes import session_file, write_home
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of, owner_of_server
from tests.team.served import Browser, Served, serving

SHOP = "@ cwd={}\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads every line twice"
RuleAbout = Literal["remote", "path", "project"]
ZOO = "@ cwd={}\nc <- - user: feed the zyxquokka\nd <- c assistant(m2): with zyxmarzipan"


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as found:
        yield found


FULL, REDACTED, METRICS, OFF = SyncMode
SHOP_PROJECT = Project("/home/ada/shop", "git@github.com:acme/shop.git")


@pytest.mark.parametrize(
    ("own", "org", "mode"),
    [(FULL, FULL, FULL), (FULL, REDACTED, REDACTED), (REDACTED, FULL, REDACTED), (METRICS, OFF, OFF), (OFF, FULL, OFF)],
)
def test_of_two_policies_the_stricter_holds(own: SyncMode, org: SyncMode, mode: SyncMode) -> None:
    policy = EffectivePolicy(Policy(own), OrgRules("x", Policy(org), "Acme"))
    assert policy.mode_of(SHOP_PROJECT) is mode
    judged = policy.judge(RanIn("/home/ada/shop", frozenset({"github.com/acme/shop"}), was_bare=False))
    assert (judged.mode, judged.is_held_back) == (mode, org.strictness > own.strictness)


@pytest.mark.parametrize(
    ("by", "pattern", "matches"),
    [
        ("remote", "github.com/acme/*", True),
        ("remote", "github.com/other/*", False),
        ("path", "/home/ada", True),
        ("path", "/home/ad", False),
        ("project", "shop", True),
        ("project", "sh*", True),
        ("project", "ada", False),
    ],
)
def test_a_rule_is_about_a_remote_a_folder_or_a_name(by: RuleAbout, pattern: str, matches: bool) -> None:
    policy = Policy(FULL, (PolicyRule(by, pattern, OFF),))
    assert policy.mode_of(SHOP_PROJECT) is (OFF if matches else FULL)


def test_of_several_rules_the_strictest_comes_first() -> None:
    rules = [PolicyRule("project", "shop", METRICS), PolicyRule("path", "/home", OFF), PolicyRule("path", "/", FULL)]
    assert [rule.mode for rule in strictest_first(rules)] == [OFF, METRICS, FULL]


def test_a_machine_follows_the_rules_and_says_why_something_does_not_leave(served: Served, tmp_path: Path) -> None:
    admin = _admin(served)
    invited(served, "ada")
    ada = served.signed_in("ada")
    shop, zoo, where = _machine(tmp_path)
    _connect(served, ada, where)
    until(lambda: len(_chats(ada)) == 2)

    page = admin.get("/project-rules").text
    assert "github.com/acme/shop" in page
    assert "token" not in page, "no user or password of a git remote leaves"
    admin.submit("/project-rules", by="remote", pattern="https://github.com/acme/*", mode="off")
    assert "ada/" in admin.get("/project-rules").text, "a machine that has not asked for the new rules is named"

    preview = json.loads(on_machine(where, "sync", "preview", "team", "--json"))["projects"]
    told = {row["project"]: (row["mode"], row["reason"]) for row in preview}
    assert told[shop] == ("off", "Team's rule for the git remote github.com/acme/*")
    assert told[zoo] == ("redacted", "")
    synced = json.loads(on_machine(where, "sync", "--json"))["remotes"][0]
    assert synced["sent"]["removed"]
    until(lambda: [chat["project"] for chat in _chats(ada)] == [zoo])
    assert ada.get("/api/v1/search?q=zyxparser").json()["chats"] == []
    status = json.loads(on_machine(where, "sync", "status", "--json"))["remotes"][0]
    assert [(one["project"], one["mode"]) for one in status["held_back"] if one["project"] == shop] == [(shop, "off")]
    assert "because of Team's rule" in on_machine(where, "sync", "status")
    assert "do not follow these rules" not in admin.get("/project-rules").text
    assert "NOT EQUAL" not in on_machine(where, "sync", "verify", "--deep")

    number = re.search(r"/project-rules/(\d+)/remove", admin.get("/project-rules").text)
    assert number
    admin.submit(f"/project-rules/{number[1]}/remove")
    on_machine(where, "sync")
    until(lambda: len(_chats(ada)) == 2)
    assert "NOT EQUAL" not in on_machine(where, "sync", "verify", "--deep")


def test_a_machine_that_does_not_know_the_rules_can_send_nothing(served: Served, tmp_path: Path) -> None:
    (ada,) = invited(served, "ada")
    machine = machine_of(served, ada, tmp_path / "machines")
    machine.push(shop=SHOP.format("/home/dev/shop"))
    admin = served.signed_in("admin")
    admin.submit("/project-rules", by="all", mode="metrics")
    with pytest.raises(RulesChangedError):
        machine.push(zoo=ZOO.format("/home/dev/zoo"))
    headers = {"authorization": f"Bearer {machine.secret}"}
    answer = httpx.put(f"{served.url}/sync/v1/objects/x", content=b"", headers=headers, trust_env=False)
    assert answer.status_code == 412
    assert "update backscroll" in answer.json()["error"]["hint"]
    assert machine.remote.rules().policy == Policy(METRICS)  # type: ignore[attr-defined]
    machine.push()
    machine.remote.tell_projects([ToldProject("/a\0b", "x"), ToldProject("/a", "https://u:token@h/x.git")])  # type: ignore[attr-defined]
    with served.context.database.transaction() as connection:
        assert connection.execute("select path, remote from device_project").fetchall() == [("/a", "h/x")]
    for content, status in ((b"[" + b" " * LARGEST_LIST, 413), (b"{}", 400)):
        answer = httpx.put(f"{served.url}/sync/v1/projects", content=content, headers=headers, trust_env=False)
        assert answer.status_code == status


def test_a_rule_that_makes_no_sense_is_refused(served: Served) -> None:
    admin = _admin(served)
    for form in (
        {"by": "remote", "pattern": " ", "mode": "off"},
        {"by": "path", "pattern": "/x", "mode": "none"},
        {"by": "colour", "pattern": "red", "mode": "off"},
    ):
        assert admin.submit("/project-rules", **form).status_code == 400
    assert "There are no rules" in admin.get("/project-rules").text


def _admin(served: Served) -> Browser:
    owner_of_server(served)
    return served.signed_in("admin")


def _chats(browser: Browser) -> list[Any]:
    found: list[Any] = browser.get("/api/v1/chats").json().get("chats", [])
    return found


def _machine(folder: Path) -> tuple[str, str, Path]:
    """A machine with two projects, one of them a git clone: their folders, and the one with home and library."""
    shop, zoo, home = folder / "work" / "shop", folder / "work" / "zoo", folder / "home"
    zoo.mkdir(parents=True)
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "config").write_text('[remote "origin"]\n\turl = https://me:token@github.com/Acme/shop.git\n')
    for folder_name, name, drawing in (
        ("-work-shop", "shop", SHOP.format(shop)),
        ("-work-zoo", "zoo", ZOO.format(zoo)),
    ):
        for path, data in session_file(name, drawing).items():
            write_home(home, {f"projects/{folder_name}/{path.rpartition('/')[2]}": data})
    return str(shop), str(zoo), folder


def on_machine(folder: Path, *words: str) -> str:
    """What a command on the machine prints."""
    done = run_command(*words, *place_options(words, folder / "home", folder / "library"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def _connect(served: Served, browser: Browser, where: Path) -> None:
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(on_machine(where, "connect", served.url, "--yes")))
    thread.start()

    def asks() -> bool:
        with served.context.database.transaction() as connection:
            row = connection.execute("select code from device_request where person is null").fetchone()
        return row is not None and browser.submit("/connect", code=row[0], answer="yes").url.path == "/devices"

    until(asks)
    thread.join(60)
    assert "Connected as ada/" in done[0]


def test_the_rules_hold_for_each_session_by_all_of_its_folders_and_git_remotes(served: Served, tmp_path: Path) -> None:
    admin = _admin(served)
    admin.submit("/project-rules", by="remote", pattern="github.com/acme/*", mode="off")
    admin.submit("/project-rules", by="path", pattern="/home/ada/client/*", mode="off")
    invited(served, "ada")
    ada = served.signed_in("ada")
    home, work = tmp_path / "home", tmp_path / "work"
    fork, plain, tree, module = work / "fork", work / "plain", work / "tree", work / "fork" / "vendor"
    own = fork / ".git" / "worktrees" / "tree"
    for folder in (own, plain, tree, module, fork / ".git" / "modules" / "vendor"):
        folder.mkdir(parents=True)
    lib = '[remote "origin"]\n\turl = https://github.com/lib/vendor\n'
    (fork / ".git" / "config").write_text('[remote "origin"]\n\turl = https://github.com/ada/shop\n')
    with (fork / ".git" / "config").open("a") as config:
        config.write('[remote "upstream"]\n\turl = git@github.com:acme/shop.git\n')
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (fork / ".git" / "modules" / "vendor" / "config").write_text(lib)
    (module / ".git").write_text("gitdir: ../.git/modules/vendor\n")
    sessions = {
        "plain": ("-work-plain", [str(plain)]), "moved": ("-work-plain", [str(plain), "/home/ada/client/x"]),
        "fork": ("-fork", [str(fork)]), "tree": ("-tree", [str(tree)]), "module": ("-module", [str(module)]),
        "beside": ("-home-ada-client-x", ["/home/ada/client-x"]),
        "client": ("-home-ada-client-x", ["/home/ada/client/x"]),
    }  # fmt: skip
    for number, (name, (project, cwds)) in enumerate(sessions.items()):
        path = f"projects/{project}/{UUID}{number:012}.jsonl"
        rows = [_prompt(f"{name}{at}", cwd, f"zyx{name}") for at, cwd in enumerate(cwds)]
        write_home(home, {path: "".join(f"{json.dumps(row)}\n" for row in rows).encode()})
        typed = {"display": f"typed zyx{name}", "project": cwds[-1], "sessionId": f"{UUID}{number:012}"}
        with (home / "history.jsonl").open("a") as history:
            history.write(f"{json.dumps(typed)}\n")
    write_home(home, {"projects/-work-plain/memory/MEMORY.md": b"zyxmemory\n", "plans/plan.md": b"zyxplan\n"})
    _connect(served, ada, tmp_path)
    assert _sent_words(tmp_path) == {"plain"}, "a folder that was never seen may be a clone of acme"
    for one in re.findall(r"/project-rules/(\d+)/remove", admin.get("/project-rules").text):
        admin.submit(f"/project-rules/{one}/remove")
    admin.submit("/project-rules", by="path", pattern="/home/ada/client/*", mode="off")
    shutil.rmtree(fork)
    on_machine(tmp_path, "sync")
    assert _sent_words(tmp_path) == {"plain", "beside", "fork", "tree", "module"}
    admin.submit("/project-rules", by="remote", pattern="github.com/acme/*", mode="off")
    on_machine(tmp_path, "sync")
    assert _sent_words(tmp_path) == {"plain"}, "the clone is gone, and its git remotes are known"


UUID = "11111111-1111-4111-8111-"


def _prompt(uuid: str, cwd: str, text: str) -> dict[str, object]:
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": uuid, "parentUuid": None, "cwd": cwd, "message": message, "timestamp": NOON}


NOON = "2026-03-01T12:00:00Z"


def _sent_words(folder: Path) -> set[str]:
    """The words in everything that the server stores."""
    objects = (path for path in (folder / "server" / "objects").rglob("*") if path.is_file())
    bundles = [bundle for path in objects for bundle in read_bundles(path.read_bytes())]
    sent = b"".join(bundle.content(one) for bundle in bundles for one in bundle.index.entries if one.file is not None)
    return {word.decode() for word in re.findall(rb"zyx([a-z]+)", sent)}
