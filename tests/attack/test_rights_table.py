"""The table of who gets what, tried line by line and person by person: with both walls, and with each one alone.

Two organisations are on one server, and everything is asked for over HTTP. The routes come from the application: a new
one fails here until it stands in the table.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from backscroll.mcp.tools import TOOLS
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.jobs import enqueue
from backscroll.team.people.accounts import Person, new_org, new_person, person_of
from backscroll.team.people.invitations import invite_again, new_invitation
from backscroll.team.people.secrets import digest, new_code, new_secret
from backscroll.team.people.sessions import begin_session, new_key
from backscroll.team.reading.share_links import new_link
from backscroll.team.reading.viewer_pool import ViewerPool
from backscroll.team.serving.app import make_team_app
from tests.attack.rights_table import ASKERS, GROUPS, KEYS, PEOPLE, Line, lines
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database, older_postgres, postgres, without_row_security
from tests.support.processes import until
from tests.team.sending import Machine, machine_of, owner_of_server
from tests.team.served import Served, serving

__all__ = ["older_postgres", "postgres"]

PRIVATE = """
@ cwd=/home/dev/zoo
c <- - user: feed the zyxquokka with the parser
d <- c call(m2) t1 Task {"description": "look", "prompt": "look for zyxmarzipan", "subagent_type": "general-purpose"}
@ agent=a1b2c3
g <- - user: look for zyxmarzipan
h <- g assistant(m5): here is zyxmarzipan
@ agent=
e <- d result t1: zyxmarzipan {"toolUseResult": {"agentId": "a1b2c3"}}
f <- e assistant(m3): with zyxmarzipan
i <- e user: no zyxmarzipan
j <- i assistant(m4): with nothing
"""
SHARED = """
@ cwd=/home/dev/shop
a <- - user: why is the parser slow
b <- a assistant(m1): the zyxparser reads twice
k <- b user: make it fast
l <- k assistant(m6): it is fast
m <- b user: make it faster
n <- m assistant(m7): it is faster
"""
FOREIGN = "@ cwd=/home/dev/bank\nx <- - user: rob the qvxwalrus with the parser\ny <- x assistant(m9): of its qvxpearls"
OF_ADA = re.compile("zyxquokka|zyxmarzipan")
OF_HERE = re.compile("zyx")
OF_OTHERS = re.compile("qvx")
REFUSED = {401, 403, 404}
BOTH, NO_DATABASE, NO_APPLICATION = "both walls", "without the database's", "without the application's"
SOME = "some askers"
NUMBERS = itertools.count(1)


@dataclass
class World:
    """A server with two organisations, and what each asker sends with a request."""

    served: Served
    ada: Person
    askers: frozenset[str] = frozenset()
    """Who is tried; everyone if it is empty."""
    clients: dict[str, httpx.Client] = field(default_factory=dict)
    walls: str = ""
    unfiltered: set[str] = field(default_factory=set)
    """The statements whose condition on the organisation was taken away."""
    names: dict[str, str] = field(default_factory=dict)
    """What stands for the parameters of paths, where it is the same for everyone."""

    def fill(self, path: str, asker: str) -> str:
        """A path with ids; where something may be changed, with those of something new."""

        def value(match: "re.Match[str]") -> str:
            name = match[1]
            return quote(FRESH[name](self, asker) if name in FRESH else self.names[name], safe="/:")

        return re.sub(r"{(\w+)(?::\w+)?}", value, path)

    def insert(self, statement: str, *values: object) -> str:
        with self.served.context.database.transaction() as connection:
            row = connection.execute(statement.encode(), values).fetchone()
        return str(row[0]) if row else ""


def _secret(world: World, _: str) -> str:
    with world.served.context.database.transaction() as connection:
        return new_link(connection, world.ada, world.names["shared"], "t", 7)


def _invitation(world: World, _: str) -> str:
    with world.served.context.database.transaction() as connection:
        person = new_person(connection, world.ada.org, f"new{next(NUMBERS)}", "New")
        return new_invitation(connection, world.ada.org, person, None)


def _inserting(statement: str) -> Callable[[World, str], str]:
    """A function that makes something of Ada's, or of her organisation; `{n}` is a new number."""

    def insert(world: World, _: str) -> str:
        text = statement.replace("{n}", str(next(NUMBERS))).replace("{ada}", str(world.ada.id))
        text = text.replace("{org}", str(world.ada.org)).replace("{shared}", world.names["shared"])
        return world.insert(text.replace("{digest}", f"decode('{digest(new_secret('x')).hex()}', 'hex')"))

    return insert


def _asked_for(statement: str) -> Callable[[World, str], str]:
    return lambda world, _: world.insert(statement.replace("{ada}", str(world.ada.id)))


FRESH: dict[str, Callable[[World, str], str]] = {
    "secret": _secret,
    "invitation": _invitation,
    "handle": _inserting("insert into person (org, handle, name) values ({org}, 'by{n}', 'By') returning handle"),
    "team": _inserting("insert into team (org, name) values ({org}, 'team{n}') returning id"),
    "key": _inserting(
        "insert into api_key (person, name, digest, scopes) values ({ada}, 'k', {digest}, '{read}') returning id"
    ),
    "device": _inserting(
        "insert into device (person, name, credential) values ({ada}, 'ada/x{n}', {digest}) returning id"
    ),
    "import": _inserting(
        "insert into device (person, name, credential, is_import)"
        " values ({ada}, 'ada/i{n}', {digest}, true) returning id"
    ),
    "link": _inserting(
        "insert into share_link (owner, chat, title, digest, expires)"
        " values ({ada}, '{shared}', 't', {digest}, now() + interval '1 day') returning id"
    ),
    "share": _inserting(
        "with t as (insert into team (org, name) values ({org}, 'shares{n}') returning id)"
        " insert into share (owner, chat, title, audience, team) select {ada}, '{shared}', 't', 'team', id from t"
        " returning id"
    ),
    "hold": _inserting(
        "insert into hold (org, person, chat, reason, placed_by) values ({org}, {ada}, 'x', 'r', 'x') returning id"
    ),
    "rule": _inserting(
        "insert into retention_rule (org, project, days, made_by) values ({org}, 'p{n}', 36000, 'x') returning id"
    ),
    "project_rule": _inserting(
        "insert into project_rule (org, by, pattern, mode, made_by)"
        " values ({org}, 'project', 'p{n}', 'full', 'x') returning id"
    ),
    "recovery": _inserting(
        "insert into recovery (org, person, link, made_by) values ({org}, {ada}, {digest}, 'x') returning id"
    ),
    "job": _inserting(
        "insert into job (kind, about, due, problem)"
        " values ('look', 'ada/x{n}', now() + interval '1 day', 'x') returning id"
    ),
    "absent": lambda world, _: re.sub(r"[^/]+$", f"{next(NUMBERS) + 10**9:010}-{10**10 - 1}.0", world.names["name"]),
}
JSON: dict[str, object] = {
    "/sync/v1/connect": {"machine": "m"},
    "/sync/v1/projects": [],
    "/sync/v1/recovery": {"code": "XXXX-XXXX", "is_mine": False},
}
ARGUMENTS: dict[str, dict[str, object]] = {
    "recall": {"question": "how does the parser work", "max_tokens": 8000},
    "search": {"query": "parser", "detail": "messages", "limit": 50, "max_tokens": 50_000},
    "read": {"chat": "{chat}"},
    "timeline": {"project": "*", "max_tokens": 8000},
    "similar_errors": {"error": "the parser"},
    "file_history": {"path": "zoo"},
    "stats": {"report": "prompts", "limit": 200, "max_tokens": 8000},
    "query": {"sql": "select * from v_messages", "max_tokens": 8000},
}


def _form(world: World, asker: str, path: str) -> dict[str, str]:
    """Fields of which nothing comes, also where they are allowed."""
    fields = {
        "confirm": "no", "reason": "", "days": "0", "action": "change", "role": "", "audience": "org", "answer": "no",
        "password": "short", "handle": FRESH["handle"](world, asker), "code": "XXXX-XXXX",
    }  # fmt: skip
    if path == "/connect":
        fields["code"] = world.insert(WAITING.format(digest(new_secret("r")).hex(), new_code()))
    return fields | ({"link": _invitation(world, asker)} if path == "/welcome" else {})


WAITING = (
    "insert into device_request (digest, code, machine, address, expires)"
    " values (decode('{}', 'hex'), '{}', 'm', '', now() + interval '1 day') returning code"
)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("postgres", SOME), id=SOME, marks=pytest.mark.slow),
        pytest.param(("postgres", BOTH), id=BOTH, marks=pytest.mark.all),
        pytest.param(("older_postgres", BOTH), id="PostgreSQL 15", marks=pytest.mark.all),
        pytest.param(("postgres", NO_DATABASE), id=NO_DATABASE, marks=pytest.mark.all),
        pytest.param(("postgres", NO_APPLICATION), id=NO_APPLICATION, marks=pytest.mark.all),
    ],
)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    version, walls = request.param
    server: EmbeddedPostgres = request.getfixturevalue(version)
    folder = tmp_path_factory.mktemp("rights")
    with (
        fresh_database(server) as address,
        serving(address, folder / "server") as served,
        pytest.MonkeyPatch.context() as patch,
    ):
        made = _world(served, folder)
        if walls == SOME:
            made.askers = frozenset({"waiting", "admin", "ada", "zadmin", "zoe-mcp"})
        if walls == NO_DATABASE:
            without_row_security(address)
        made.walls = walls
        if walls == NO_APPLICATION:
            _remove_filters(patch, made.unfiltered)
        try:
            yield made
        finally:
            for client in made.clients.values():
                client.close()


def _remove_filters(patch: pytest.MonkeyPatch, unfiltered: set[str]) -> None:
    """Statements as if every one had forgotten whose organisation it is about.

    The scope of a library is of `tests/store/test_postgres_rights.py`, which takes that away.
    """
    run = psycopg.Cursor.execute

    def execute(self: "psycopg.Cursor[Any]", query: Any, *words: Any, **named: Any) -> Any:  # noqa: ANN401
        if isinstance(query, str) and "builds" not in query:  # there, it is the number of a person: which index is read
            without = OWN_ORG.sub(r"(\g<0> or true)", query)
            unfiltered.update({query} - {without})
            query = without
        return run(self, query, *words, **named)

    patch.setattr(psycopg.Cursor, "execute", execute)


OWN_ORG = re.compile(r"\b(?:[a-z]+\.)?org = (?:%s|%\(org\)s)")


def _world(served: Served, folder: Path) -> World:
    database = served.context.database
    owner = owner_of_server(served)
    with database.transaction() as connection:
        other = new_org(connection, "Other")
        for handle in ("ada", "member"):
            new_person(connection, owner.org, handle, handle.title())
        for role in ("service", "auditor", "admin"):
            new_person(connection, owner.org, f"role-{role}", role, role=role)
        new_person(connection, other, "zoe", "Zoe")
        new_person(connection, other, "zadmin", "Zadmin", role="owner")
        handles = {"owner": "admin", **{role: f"role-{role}" for role in ("service", "auditor", "admin")}}
        people = {
            name: person_of(connection, other if name[0] == "z" else owner.org, handles.get(name, name))
            for name in PEOPLE
        }
    made = World(served, people["ada"])
    machines = {name: machine_of(served, people[name], folder / "machines") for name in ("ada", "member", "zoe")}
    machines["ada"].push(private=PRIVATE, shared=SHARED)
    machines["zoe"].push(foreign=FOREIGN)
    _let_in(made, people, machines)
    with database.transaction() as connection:  # the API answers whoever has a library, be it empty
        for person in people.values():
            enqueue(connection, "index", person.handle)
    for name, count in (("ada", 2), ("zoe", 1)):
        client = made.clients[name]
        until(lambda client=client, count=count: len(client.get("/api/v1/chats").json().get("chats", [])) == count)  # type: ignore[misc]
        until(lambda client=client: not client.get("/api/v1/search?q=parser").json().get("pending", 1))  # type: ignore[misc]
    until(lambda: made.insert("select count(*) from job") == "0")
    _fill(made, machines["ada"])
    return made


def _let_in(made: World, people: dict[str, Person], machines: dict[str, Machine]) -> None:
    served, url = made.served, made.served.url
    with served.context.database.transaction() as connection:
        sessions = {name: begin_session(connection, person) for name, person in people.items()}
        keys = {
            name: new_key(connection, people[name.rpartition("-")[0]], "k", [name.rpartition("-")[2]]) for name in KEYS
        }
        link = invite_again(connection, people["owner"], "ada")
    waiting = served.browser()
    waiting.submit("/welcome", link=link, password="staple of another horse")
    cookies = {name: {served.context.cookie: secret} for name, secret in sessions.items()}
    cookies["waiting"] = dict(waiting.cookies)
    bearers = keys | {f"{name}-machine": machine.secret for name, machine in machines.items()}
    for name in ASKERS:
        headers = {"origin": url, "sec-fetch-site": "same-origin"} if name not in bearers else {}
        if name in bearers:
            headers["authorization"] = f"Bearer {bearers[name]}"
        made.clients[name] = httpx.Client(
            base_url=url, headers=headers, cookies=cookies.get(name), trust_env=False, timeout=120
        )


def _fill(made: World, machine: Machine) -> None:
    """Something of everything in the first organisation."""
    ada = made.clients["ada"]
    private, shared = session_uuid("private"), session_uuid("shared")
    made.names = {"private": private, "shared": shared, "number": "0", "report": "usage", "file": "icon.svg"}
    assert ada.post(f"/chats/{shared}/audience", data={"audience": "org"}).status_code == 303
    for name, text in (("greeting", "zyxtext of {{what}}"), ("secret", "zyxmarzipan")):
        assert ada.post("/prompts", data={"name": name, "text": text}).status_code == 303
    assert ada.post("/prompts/greeting", data={"action": "share", "audience": "org"}).status_code == 303
    made.names |= {"prompt": "ada:greeting", "private_prompt": "ada:secret"}
    page = ada.get(f"/chats/{private}").text
    for name, pattern in (
        ("message", r"/messages/([^/\"]+)/"), ("row", r"/rows/([^\"?]+)"),
        ("agent", r"/agents/([^\"/?]+)"),
    ):  # fmt: skip
        found = re.search(rf"/chats/{private}{pattern}", page)
        made.names[name] = found[1] if found else "absent"
    made.names["call"] = "t1"
    made.names["name"] = next(iter(machine.remote.list(""))).name


@dataclass
class Try:
    """A cell of the table: a line, who asks, and whether the chat in it is the shared one."""

    line: Line
    asker: str
    is_shared: bool

    @property
    def is_expected(self) -> bool:
        return self.asker in ((self.line.shared if self.is_shared else self.line.private) or ())

    def __str__(self) -> str:
        return f"{self.line.what}{' (shared)' if self.is_shared else ''} by {self.asker}"


class Asked:
    """Requests that are ready to be sent, and what came of them."""

    def __init__(self, world: World, tried: Try) -> None:
        chat = world.names["shared" if tried.is_shared else "private"]
        names = {"chat": chat, "id": chat}
        world.names |= names
        self.tried, self.client = tried, world.clients[tried.asker]
        self.method, line = tried.line.method, tried.line
        self.path, self.text = "/mcp", ""
        self.more: dict[str, Any] = {}
        if line.method in ("TOOL", "RESOURCE") or line.route == "/mcp":
            self.more = {"json": _call(world, line, chat), "headers": {"accept": "application/json, text/event-stream"}}
            self.method = "POST"
            return
        self.path = world.fill(line.path, tried.asker)
        if line.method in ("POST", "PUT"):
            is_json = line.route in JSON
            self.more = {"json": JSON[line.route]} if is_json else {"data": _form(world, tried.asker, line.route)}

    def send(self) -> bool:
        """Whether it came through."""
        with self.client.stream(self.method, self.path, **self.more) as answer:
            where = answer.headers.get("location", "")
            is_sent_away = self.method == "GET" and where.partition("?")[0] in ("/sign-in", "/recovery")
            is_refused = answer.status_code in REFUSED or is_sent_away
            if "text/event-stream" in answer.headers.get("content-type", "") and self.method == "GET":
                return not is_refused
            text = answer.read().decode("utf-8", "replace")
        if answer.status_code >= 500:
            self.text = f"{answer.status_code} {text}"
            return False
        if self.tried.line.method == "RESOURCE" and not is_refused:
            is_refused = "result" not in json.loads(text)
        self.text = FRAME.sub("", text) + where
        return not is_refused


def _call(world: World, line: Line, chat: str) -> dict[str, object]:
    params: dict[str, object] = {}
    method = "tools/list"
    if line.method == "TOOL":
        given = {
            name: value.format(chat=chat) if isinstance(value, str) else value
            for name, value in ARGUMENTS[line.path].items()
        }
        method, params = "tools/call", {"name": line.path, "arguments": given}
    if line.method == "RESOURCE":
        method, params = "resources/read", {"uri": world.fill(line.path, "")}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_every_route_and_tool_of_the_application_is_in_the_table(world: World) -> None:
    app: Any = make_team_app(
        world.served.context, ViewerPool(Libraries(Path("/nowhere"), world.served.context.database))
    )
    while not isinstance(app, Starlette):
        app = next(value for value in vars(app).values() if callable(value) and hasattr(value, "__dict__"))
    there = {*_routes(app.routes), *(f"TOOL {tool}" for tool in TOOLS)}
    known = {f"{line.method} {_plain(line.route)}" for line in lines() if line.method != "RESOURCE"}
    assert there - known == set(), "put it into tests/attack/rights_table.py"
    assert known - there == set(), "it is gone"


def _plain(path: str) -> str:
    for name, value in ALIASES.items():
        path = path.replace(name, value)
    return path


ALIASES = {
    ":path}": "}", "bsu_guessed": "{secret}", "{private_prompt}": "{prompt}", "{import}": "{device}",
    "{absent}": "{name}",
}  # fmt: skip
"""What lines of the table call a parameter that stands for something else there."""


def _routes(routes: list[BaseRoute], before: str = "") -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount) and route.routes:
            yield from _routes(route.routes, before + route.path)
        elif isinstance(route, Mount):
            yield f"GET {before}{route.path}/{{file}}"
        else:
            assert isinstance(route, Route)
            for method in (route.methods or {"POST"}) - {"HEAD"}:
                yield f"{method} {before}{_plain(route.path)}"


def _tries() -> Iterator[Try]:
    for line in lines():
        for asker in ASKERS:
            yield Try(line, asker, is_shared=False)
            if line.shared is not None:
                yield Try(line, asker, is_shared=True)


def test_each_gets_what_the_table_says_and_nothing_else(world: World) -> None:
    """First all who must not get through, who change nothing; then all who may; each sees nothing of others."""
    tries = [one for one in _tries() if not world.askers or one.asker in world.askers]
    refused = [one for one in tries if not one.is_expected]
    allowed = [one for one in tries if one.is_expected]
    allowed.sort(key=lambda one: one.line.route == "/sign-out")
    wrong: list[str] = []
    ready = [Asked(world, one) for one in refused]
    before = _state(world)
    with ThreadPoolExecutor(4) as threads:
        wrong += [problem for found in threads.map(_problems, ready) for problem in found]
        after = _state(world)
        wrong += [f"changed: {set(before) ^ set(after)}"] if before != after else []
    sees_own = set()
    for one in allowed:
        asked = Asked(world, one)
        wrong += _problems(asked)
        if one.asker.startswith("ada") and OF_ADA.search(asked.text):
            sees_own.add(one.line.what)
    assert not wrong, "\n".join(wrong)
    assert len(sees_own) > (10 if world.askers else 30), f"the rest would look at nothing: {sees_own}"
    assert world.walls != NO_APPLICATION or len(world.unfiltered) > 30, "the condition is written differently now"


def _problems(asked: Asked) -> list[str]:
    """What is wrong with the answer to a request."""
    tried = asked.tried
    came_through = asked.send()
    text, found = asked.text, []
    if came_through != tried.is_expected and tried.asker not in tried.line.either:
        found.append(f"{tried}: {'came through' if came_through else 'was refused'}: {text[:80]!r}")
    if re.match("5[0-9][0-9] ", text):
        found.append(f"{tried}: failed: {text[:300]}")
    person = tried.asker.partition("-")[0]
    for pattern, is_known in (
        (OF_ADA, person == "ada"),
        (OF_HERE, person in GROUPS["here"] or "{secret}" in tried.line.path),
        (OF_OTHERS, person == "zoe"),
    ):
        if not is_known and (match := pattern.search(text)):
            found.append(f"{tried}: shows {text[max(0, match.start() - 60) : match.end() + 60]!r}")
    return found


def test_each_view_of_sql_shows_only_ones_own(world: World) -> None:
    with world.served.context.database.transaction() as connection:
        views = [str(name) for (name,) in connection.execute(VIEWS).fetchall()]
    assert len(views) > 5
    agents = [name for name in KEYS if name.endswith("-mcp") and (not world.askers or name in ("ada-mcp", "zoe-mcp"))]
    seen: dict[str, str] = dict.fromkeys(agents, "")
    for name, view in itertools.product(agents, views):
        call = {"name": "query", "arguments": {"sql": f"select * from {view}", "limit": 1000, "max_tokens": 20000}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"accept": "application/json, text/event-stream"}
        answer = world.clients[name].post("/mcp", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert not answer.json()["result"]["isError"], answer.text
        seen[name] += FRAME.sub("", answer.text)
    for name, text in seen.items():
        assert bool(OF_HERE.search(text)) == name.startswith("ada"), name
        assert bool(OF_OTHERS.search(text)) == name.startswith("zoe"), name


VIEWS = r"select relname from pg_class where relkind = 'v' and relname like 'v\_%' order by 1"
FRAME = re.compile(r"⟦\w+|\w+⟧")
"""The random key of the frame around texts, which may have these letters, too."""


def _state(world: World) -> list[str]:
    tables = "device team share share_link prompt prompt_share hold retention_rule project_rule erasure membership"
    found: list[str] = []
    with world.served.context.database.transaction() as connection:
        for table in (*tables.split(), "person", "recovery", "job", "budget", "org_limits"):
            rows = connection.execute(
                f"select '{table} ' || (row_to_json(t)::jsonb - 'seen' - 'opened' - 'last_opened')::text from {table} t"
            )
            found += sorted(str(row) for (row,) in rows)
    return found
