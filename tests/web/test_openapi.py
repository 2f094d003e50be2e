"""The API is what it says it is: schemathesis asks it all that its description allows, and much that it does not."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import positive_data_acceptance

from backscroll.httpd.guard import Access
from backscroll.web.api.endpoints import ENDPOINTS
from backscroll.web.api.openapi import BASE, description
from backscroll.web.api.parameters import NoParameters
from backscroll.web.api.routes import ROUTES
from backscroll.web.app import make_app
from backscroll.web.state import ViewerState
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING
from tests.support.samples import TRY_ALL

EXAMPLES = settings(
    max_examples=25 if TRY_ALL else 10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
# What takes nothing cannot be asked wrongly.
WRONGLY = [(endpoint.path, GenerationMode.NEGATIVE) for endpoint in ENDPOINTS if endpoint.takes is not NoParameters]
ASKED = [*((path, GenerationMode.POSITIVE) for path in description()["paths"] if path != "/events"), *WRONGLY]
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewerState]:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING)
    shelf.update()
    state = ViewerState(shelf.settings, shelf.open().homes)
    yield state
    state.close()


@pytest.fixture(scope="module")
def chats(state: ViewerState) -> list[str]:
    with state.library() as library:
        return [chat.overview.id for chat in library.chats()]


@pytest.fixture(scope="module")
def described(state: ViewerState) -> Any:  # noqa: ANN401 - schemathesis names no type for it
    app = make_app(state, Access(names=frozenset({"testserver"})))
    return schemathesis.openapi.from_asgi(f"{BASE}/openapi.json", app)


@pytest.mark.parametrize(("path", "mode"), ASKED)
def test_all_requests_are_answered_as_described(
    described: Any,  # noqa: ANN401
    chats: list[str],
    path: str,
    mode: GenerationMode,
) -> None:
    @EXAMPLES
    @given(asked=described[path]["GET"].as_strategy(generation_mode=mode), chat=st.sampled_from(["", *chats]))
    def check(asked: schemathesis.Case[Any], chat: str) -> None:
        if (
            chat and mode is GenerationMode.POSITIVE and "id" in asked.path_parameters
        ):  # one that is there is hardly ever guessed
            asked.path_parameters["id"] = chat
        # What a query may say is more than a description can: it may be refused.
        asked.call_and_validate(headers=OWN_PAGE, excluded_checks=[positive_data_acceptance])

    check()


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    routes = {route.path for route in ROUTES}
    assert set(description()["paths"]) == routes
    assert {endpoint.path for endpoint in ENDPOINTS} < routes


def test_the_description_is_plain_json_and_leads_nowhere_that_is_not_there() -> None:
    text = json.dumps(description())
    names = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names == set(description()["components"]["schemas"])
    assert all(operation["get"]["summary"].endswith(".") for operation in description()["paths"].values())
