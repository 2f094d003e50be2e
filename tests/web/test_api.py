"""The HTTP API answers what the command line prints, and says plainly what is wrong."""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
import pytest

from backscroll.cli.main import run
from backscroll.errors import NothingFound
from backscroll.library.analytics.report_kinds import KINDS
from backscroll.web.api.endpoints import ENDPOINTS, encode
from backscroll.web.api.parameters import ReportName
from backscroll.web.server import StartedViewer
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import EVERYTHING
from tests.web.served import ask, serving

API = "/api/v1"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING).rest()
    shelf.update()
    return shelf


@pytest.fixture(scope="module")
def served(shelf: Shelf) -> Iterator[StartedViewer]:
    with serving(shelf) as served:
        yield served


def get(served: StartedViewer, path: str, status: int = 200) -> Any:  # noqa: ANN401 - whatever JSON says
    answer = ask(served, API + path)
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    return answer.json


def printed(shelf: Shelf, *arguments: str) -> Any:  # noqa: ANN401
    """What a command prints."""
    output = io.StringIO()
    with redirect_stdout(output):
        code = run([*arguments, "--json", "--home", str(shelf.home), "--library", str(shelf.folder)])
    assert code in (0, NothingFound.exit_code)
    return json.loads(output.getvalue())


def ids(served: StartedViewer) -> list[str]:
    return [chat["id"] for chat in get(served, "/chats")["chats"]]


def test_chats_are_those_of_list(served: StartedViewer, shelf: Shelf) -> None:
    found = get(served, "/chats")
    assert found == {**printed(shelf, "list"), "more": False}
    assert len(found["chats"]) > 10
    oldest = get(served, "/chats?sort=oldest")["chats"]
    assert oldest == printed(shelf, "list", "--sort", "oldest")["chats"]
    assert get(served, "/chats?q=project%3Ashop")["chats"] == printed(shelf, "list", "project:shop")["chats"]


def test_chats_come_page_by_page(served: StartedViewer) -> None:
    everything = ids(served)
    paged: list[str] = []
    more = True
    while more:
        page = get(served, f"/chats?limit=3&offset={len(paged)}")
        paged += [chat["id"] for chat in page["chats"]]
        more = page["more"]
    assert paged == everything
    assert get(served, "/chats?offset=1000000") == {"chats": [], "total": len(paged), "more": False}


def test_a_chat_with_branches_agents_and_messages_is_that_of_show(served: StartedViewer, shelf: Shelf) -> None:
    for name in ids(served):
        shown = printed(shelf, "show", name)
        assert get(served, f"/chats/{name}") == {"chat": shown["chat"]}
        assert get(served, f"/chats/{name}/branches") == {"branches": shown["branches"]}
        agents = get(served, f"/chats/{name}/agents")["agents"]
        assert agents == [{key: agent[key] for key in agent if key != "messages"} for agent in shown["agents"]]
        for branch in shown["branches"]:
            said = get(served, f"/chats/{name}/messages?branch={branch['number']}&limit=500")["messages"]
            only = printed(shelf, "show", name, "--branch", str(branch["number"]))
            assert said == only["messages"]
            assert {message["branch"] for message in said} == {branch["number"]}
            assert [one["number"] for one in only["branches"]] == [branch["number"]]
        assert {uuid for message in shown["messages"] for uuid in message["uuids"]} >= {
            uuid for message in said for uuid in message["uuids"]
        }
        for agent in shown["agents"]:
            own = get(served, f"/chats/{name}/messages?agent={agent['id']}&limit=500")
            assert (own["messages"], own["total"]) == (agent["messages"], len(agent["messages"]))


def test_messages_come_page_by_page(served: StartedViewer) -> None:
    name = max(get(served, "/chats")["chats"], key=lambda chat: int(chat["messages"]))["id"]
    whole = get(served, f"/chats/{name}/messages")
    paged = []
    for offset in range(0, whole["total"], 2):
        page = get(served, f"/chats/{name}/messages?offset={offset}&limit=2")
        assert (page["offset"], page["total"]) == (offset, whole["total"])
        paged += page["messages"]
    assert paged == whole["messages"]
    assert len(paged) > 3


def test_a_chat_is_found_by_the_start_of_an_id_in_it(served: StartedViewer) -> None:
    name = ids(served)[0]
    whole = get(served, f"/chats/{name}")
    assert get(served, f"/chats/{name[:13]}") == whole == get(served, f"/chats/{name.upper()}")
    message = get(served, f"/chats/{name}/messages")["messages"][0]["uuids"][0]
    assert get(served, f"/chats/{message}") == whole


def test_search_finds_what_the_command_finds(served: StartedViewer, shelf: Shelf) -> None:
    for query in ("cart", "the OR a", "role:prompt", "/c[aeiou]rt/", "nowhere-to-be-found"):
        told = printed(shelf, "search", query)  # first, for it makes findable what other commands left for later
        assert get(served, f"/search?{urlencode({'q': query})}") == told
    by_time = get(served, "/search?q=the&sort=newest&limit=2&offset=1&hits=1")
    options = ("--sort", "newest", "-n", "2", "--offset", "1", "--hits", "1")
    assert by_time == printed(shelf, "search", "the", *options)


@pytest.mark.parametrize("report", sorted(KINDS))
def test_reports_are_those_of_stats(served: StartedViewer, shelf: Shelf, report: str) -> None:
    assert get(served, f"/stats/{report}?limit=20") == printed(shelf, "stats", report, *LIMITS.get(report, ()))
    for by in KINDS[report].by:
        if by != "turn":
            option = "--sort" if report in ("files", "folders") else "--by"
            limit = ("-n", "10000")
            assert get(served, f"/stats/{report}?by={by}&limit=10000") == printed(
                shelf, "stats", report, option, by, *limit
            )


LIMITS = {"usage": ("-n", "20"), "blocks": ("-n", "20"), "tools": ("-n", "20"), "cache": ("-n", "20")}


def test_the_overview_is_that_of_stats(served: StartedViewer, shelf: Shelf) -> None:
    assert get(served, "/stats/overview") == printed(shelf, "stats")
    assert set(get_args(ReportName)) == {*KINDS, "overview"}


def test_a_report_is_of_the_time_and_the_chats_that_were_asked_for(served: StartedViewer, shelf: Shelf) -> None:
    of_month = get(served, "/stats/usage?period=2026-01")
    assert of_month == get(served, "/stats/usage?since=2026-01-01&until=2026-01-31")
    assert of_month == printed(shelf, "stats", "usage", "--since", "2026-01-01", "--until", "2026-01-31")
    assert of_month != get(served, "/stats/usage")
    assert get(served, "/stats/tools?q=project%3Ashop") == printed(shelf, "stats", "tools", "project:shop")


def test_projects_add_up(served: StartedViewer) -> None:
    chats, projects = get(served, "/chats")["chats"], get(served, "/projects")["projects"]
    assert sum(project["chats"] for project in projects) == len(chats)
    assert sum(project["messages"] for project in projects) == sum(chat["messages"] for chat in chats)
    times = [project["last_active"] for project in projects if project["last_active"]]
    assert times == sorted(times, reverse=True)


def test_the_status_says_what_is_served(served: StartedViewer, shelf: Shelf) -> None:
    shelf.update()  # outputs that were read in the moment they were written have been read again: their words follow
    status = get(served, "/status")
    assert (status["library"], status["homes"]) == (str(shelf.folder), [str(shelf.home)])
    assert (status["indexed"], status["pending"], status["live"]) == (True, 0, [])


def test_before_anything_is_read_one_is_asked_to_wait(tmp_path: Path) -> None:
    with serving(Shelf(tmp_path)) as served:
        assert get(served, "/status")["indexed"] is False
        for path in ("/chats", "/projects", "/search?q=x", "/chats/abc", "/stats/usage"):
            assert get(served, path, 503)["error"]["kind"] == "busy"
        assert get(served, "/chats?limit=0", 400)["error"]["kind"] == "usage"


def test_a_library_without_chats_answers_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.update()
    with serving(shelf) as served:
        assert get(served, "/status")["indexed"] is True
        assert get(served, "/chats") == {"chats": [], "total": 0, "more": False}
        assert get(served, "/projects") == {"projects": []}
        assert get(served, "/search?q=x")["hits"] == []
        assert get(served, "/chats/abc", 404)["error"]["kind"] == "nothing-found"
        for report in get_args(ReportName):
            get(served, f"/stats/{report}")


WRONG = [
    ("/chats?limit=0", 400, "limit must be at least 1"),
    ("/chats?limit=x", 400, "limit must be a whole number"),
    ("/chats?offset=-1", 400, "offset must be at least 0"),
    ("/chats?offset=99999999999999999999999", 400, "offset must be at most "),
    ("/chats?sort=random", 400, "sort cannot be 'random'"),
    ("/chats?order=newest", 400, "order is not a parameter of this endpoint"),
    ("/chats?q=is%3Anosuchthing", 400, "nosuchthing"),
    ("/chats/zzz", 404, "starts with zzz"),
    ("/chats/..%2f..", 404, "nothing at this address"),
    ("/chats/%2e%2e", 400, "id: "),
    ("/chats/a%00b", 400, "id: "),
    ("/chats/a%20b", 400, "id: "),
    ("/chats/" + "a" * 129, 400, "id must be at most 128 long"),
    ("/chats/abc?id=def", 400, "id is part of the path"),
    ("/search", 400, "q is missing"),
    ("/search?q=", 400, "q must not be empty"),
    ("/search?q=%20", 400, "the query is empty"),
    ("/search?q=(", 400, "("),
    ("/search?q=" + "a" * 10_001, 400, "q must be at most 10000 long"),
    ("/stats/nothing", 400, "report cannot be 'nothing'"),
    ("/stats/usage?by=colour", 400, "usage cannot be grouped by colour"),
    ("/stats/blocks?by=day", 400, "blocks cannot be grouped by day"),
    ("/stats/usage?since=whenever", 400, "whenever"),
    ("/stats/usage?period=whenever", 400, "invalid period whenever"),
    ("/stats/context?by=turn", 400, ""),
    ("/none", 404, "nothing at this address"),
    ("/", 404, "nothing at this address"),
]


@pytest.mark.parametrize(("path", "status", "message"), WRONG)
def test_all_errors_have_the_same_form(served: StartedViewer, path: str, status: int, message: str) -> None:
    told = get(served, path, status)
    assert list(told) == ["error"]
    assert list(told["error"]) == ["kind", "message", "hint"]
    assert told["error"]["kind"] == {400: "usage", 404: "nothing-found"}[status]
    assert message in told["error"]["message"]
    assert told["error"]["hint"]


def test_the_beginning_of_several_chats_is_too_little(served: StartedViewer) -> None:
    firsts = [name[0] for name in ids(served)]
    common = max(firsts, key=firsts.count)
    assert get(served, f"/chats/{common}", 400)["error"]["kind"] == "usage"


def test_a_branch_or_an_agent_that_is_not_there_is_not_found(served: StartedViewer) -> None:
    name = ids(served)[0]
    assert "branch 99" in get(served, f"/chats/{name}/messages?branch=99", 404)["error"]["message"]
    assert "no agent zzz" in get(served, f"/chats/{name}/messages?agent=zzz", 404)["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_is_changed_here(served: StartedViewer, method: str) -> None:
    for endpoint in ENDPOINTS:
        path = API + endpoint.path.replace("{id}", "abc").replace("{report}", "usage")
        answer = ask(served, path, method, headers=[("Sec-Fetch-Site", "same-origin")])
        assert answer.status == 405
        assert answer.json["error"]["kind"] == "usage"
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_an_internal_error_has_the_same_form_and_reveals_nothing(shelf: Shelf) -> None:
    with serving(shelf) as served:
        app = served.server.config.app
        app.app.state.viewer = None  # type: ignore[union-attr]
        assert get(served, "/chats", 500)["error"]["kind"] == "failure"
        page = ask(served, "/chats")
        assert page.status == 500
        assert b"NoneType" not in page.body
        assert page.headers["x-content-type-options"] == "nosniff"


def test_every_answer_has_the_shape_that_is_described_and_nothing_else(served: StartedViewer) -> None:
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{report}", "usage") + ("?q=the" if endpoint.path == "/search" else "")
        for name in ids(served) if "{id}" in path else [""]:
            if "/compare" in path and len(get(served, f"/chats/{name}/branches")["branches"]) < 2:
                continue
            msgspec.convert(get(served, path.replace("{id}", name)), endpoint.gives)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "ü"}, '{"a":"ü"}'),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
        ({"a": 2**70, "b": [float("nan"), 1.5]}, f'{{"a":{2**70},"b":[null,1.5]}}'),
        ({"a": float("inf")}, '{"a":null}'),
    ],
)
def test_any_transcript_becomes_json(value: object, text: str) -> None:
    assert encode(value).decode() == text


def test_a_session_is_listed_with_its_chat(served: StartedViewer) -> None:
    assert session_uuid("old-begun") in {
        session for chat in get(served, "/chats")["chats"] for session in chat["sessions"]
    }
