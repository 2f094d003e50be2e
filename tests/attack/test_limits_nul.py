"""NUL bytes, everywhere that a request can have them: no route answers with an error of the server.

The routes are those of the application, and the names of fields those in the code of its pages, so that new ones are
tried, too.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.routing import BaseRoute, Mount, Route

import backscroll
from backscroll.mcp.tools import TOOLS
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.device_routes import DeviceRoutes
from backscroll.team.people.sessions import new_key
from backscroll.team.serving.app import ROUTES, VIEWER_ROUTES
from tests.support.postgres import database, older_postgres, postgres
from tests.team.sending import invited, machine_of, owner_of_server
from tests.team.served import PASSWORD, Browser, Served, serving

__all__ = ["database", "older_postgres", "postgres"]
CODE = Path(backscroll.__file__).parent
FIELD = re.compile(r"""(?:\.get|\.number|form_lists\.get|form|form_lists)[(\[]"([a-z_]+)\"""")
PARAMETER = re.compile(r"\{\w+(?::\w+)?\}")
NUL = "a\0b"


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    from tests.support.postgres import fresh_database

    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("nul")) as found:
        invited(found, "ada")
        yield found


def routes(found: list[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    for route in found:
        if isinstance(route, Mount):
            yield from routes(list(route.routes), before + route.path)
        elif isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield method, before + route.path


def every_route() -> list[tuple[str, str]]:
    found = set(routes([*ROUTES, *VIEWER_ROUTES]))
    return sorted((method, path) for method, path in found if not path.endswith(("/events", "/static")))


def fields() -> list[str]:
    folders = (CODE / "team", CODE / "web")
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return sorted({name for text in texts for name in FIELD.findall(text)})


def ask(browser: Browser, method: str, path: str, values: dict[str, str]) -> httpx.Response:
    if method == "POST":
        return _submit(browser, path, values)
    return browser.request(method, path, params=values, follow_redirects=False)


def _submit(browser: Browser, path: str, values: dict[str, str]) -> httpx.Response:
    headers = {"origin": str(browser.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    return browser.post(path, data=values, headers=headers)


def test_no_route_fails_at_a_nul(served: Served) -> None:
    browser = served.signed_in("admin")
    names = fields()
    assert {"handle", "q", "password", "next", "chat"} <= set(names) | {"chat"}
    failed = []
    for method, path in every_route():
        if path == "/sign-out":
            continue
        in_path, plain = (PARAMETER.sub(text, path) for text in ("a%00b", "1"))
        asked = [(in_path, {}), (plain, dict.fromkeys(names, NUL))]
        for address, values in asked:
            status = ask(browser, method, address, values).status_code
            if status == 500:
                failed.append((method, address, status))
    assert not failed


@pytest.mark.slow
@pytest.mark.all
def test_no_field_fails_at_a_nul(served: Served) -> None:
    browser = served.signed_in("admin")
    names = fields()
    failed = []
    for method, path in every_route():
        if path == "/sign-out":
            continue
        for name in names:
            others = dict.fromkeys(names, "1") if method == "POST" else {}
            status = ask(browser, method, PARAMETER.sub("1", path), {**others, name: NUL}).status_code
            if status == 500:
                failed.append((method, path, name, status))
    assert not failed


def test_no_program_fails_at_a_nul(served: Served, tmp_path: Path) -> None:
    owner = owner_of_server(served)
    machine = machine_of(served, owner, tmp_path, "nul")
    with served.context.database.transaction() as connection:
        keys = [new_key(connection, owner, scope, [scope]) for scope in ("read", "mcp")]
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        bearer = {"authorization": f"Bearer {machine.secret}"}
        device = routes(list(DeviceRoutes(served.context.objects, lambda _: None).routes), "/sync/v1")
        for method, path in device:
            address = PARAMETER.sub("a%00b", path)
            body = '[{"path": "a\\u0000b", "remote": "a\\u0000b"}]'
            answers = [
                client.request(method, address, params={"prefix": NUL}, headers=bearer, content=body),
                client.request(method, address, headers={"authorization": "Bearer a\0b".replace("\0", "%00")}),
            ]
            assert 500 not in {answer.status_code for answer in answers}, (method, path)
        asked = client.post("/sync/v1/connect", json={"machine": NUL})
        assert asked.status_code != 500
        for name, tool in TOOLS.items():
            schema = tool.listed_schema()
            needed = dict.fromkeys(schema.get("required", ()), "x")
            texts = [one for one, about in schema["properties"].items() if "string" in json.dumps(about)]
            assert texts, name
            for argument in texts:
                params = {"name": name, "arguments": {**needed, argument: NUL}}
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                headers = {"authorization": f"Bearer {keys[1]}", "accept": "application/json, text/event-stream"}
                answer = client.post("/mcp", json=call, headers=headers)
                if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                    assert answer.status_code == httpx.codes.OK, (name, argument, answer.text)
                    assert f"{name} failed" not in answer.text, (argument, answer.text)
        for path in ("chats", "search", "stats/usage", "projects"):
            answer = client.get(f"/api/v1/{path}", params={"q": NUL}, headers={"authorization": f"Bearer {keys[0]}"})
            assert answer.status_code != 500, (path, answer.text)


def test_strangers_get_no_failure_at_a_nul(served: Served) -> None:
    stranger = served.browser()
    assert stranger.submit("/sign-in", handle=NUL, password=PASSWORD).status_code != 500
    assert stranger.submit("/sign-in", handle="admin", password=NUL).status_code != 500
    assert stranger.submit("/welcome", link=NUL, password=NUL).status_code != 500
    for path in (
        "/welcome?link=a%00b",
        "/sign-in?next=a%00b",
        "/oidc/callback?state=a%00b&code=a%00b",
        "/shared-link/a%00b",
    ):
        assert stranger.get(path).status_code != 500, path
