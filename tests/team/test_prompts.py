"""Saved prompts on a server: private until they are shared, used by others, and changed by their owner alone."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from backscroll.errors import NothingFound, UsageError
from backscroll.library.prompts.prompt import PromptChange, PromptSource, new_prompt
from backscroll.team.people.sessions import new_key
from backscroll.team.people.teams import new_team, set_members
from backscroll.team.reading.prompts import TeamPrompts
from tests.team.demo_served import FLAKY, DemoServed

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def teams(demo: DemoServed) -> dict[str, str]:
    """The audiences of the demo, by the name of the team."""
    with demo.served.context.database.transaction() as connection:
        return {str(name): f"team-{number}" for number, name in connection.execute("select id, name from team")}


@pytest.fixture
def prompts(demo: DemoServed) -> Iterator[dict[str, TeamPrompts]]:
    """What each person may use. What a test saves is removed."""
    found = {name: TeamPrompts(demo.served.context.database, demo.person(name)) for name in ("ada", "ben", "liz")}
    before = {name: {one.name for one in own.all() if not one.owner} for name, own in found.items()}
    yield found
    for name, own in found.items():
        for one in own.all():
            if not one.owner and one.name not in before[name]:
                own.remove(one.name)


def keys(prompts: TeamPrompts) -> set[str]:
    return {one.key for one in prompts.all()}


def test_a_prompt_is_private_until_it_is_shared(prompts: dict[str, TeamPrompts], teams: dict[str, str]) -> None:
    ada, ben, liz = prompts["ada"], prompts["ben"], prompts["liz"]
    ada.add(new_prompt("review", "look at {{branch}}", source=PromptSource(chat="c", message="m")))
    assert "review" in keys(ada)
    assert "ada:review" not in keys(ben) | keys(liz)
    ada.share("review", teams["Shop"])  # Ada and Ben
    assert "ada:review" in keys(ben)
    assert "ada:review" not in keys(liz)
    assert [one.key for one in ada.find("review").shared_with] == [teams["Shop"]]
    shared = ben.find("ada:review")
    assert (shared.owner, shared.source, shared.shared_with) == ("ada", None, [])
    ada.share("review", "org")
    ada.share("review", "org")  # no second time
    assert "ada:review" in keys(liz)
    assert [one.key for one in ada.find("review").shared_with] == [teams["Shop"], "org"]
    ada.unshare("review", "org")
    with pytest.raises(NothingFound):
        liz.find("ada:review")
    ada.unshare("review", teams["Shop"])
    for use in (ben.find, ben.count_use):
        with pytest.raises(NothingFound):
            use("ada:review")
    with pytest.raises(NothingFound):
        ada.unshare("review", "org")


def test_uses_of_everyone_are_counted(prompts: dict[str, TeamPrompts]) -> None:
    ada, ben = prompts["ada"], prompts["ben"]
    ada.add(new_prompt("count", "text"))
    ada.share("count", "org")
    ada.count_use("count")
    ada.count_use("ada:count")  # the same
    assert ben.count_use("ada:count").uses == 3
    assert ada.find("count").uses == 3
    assert ada.find("count").used
    changed = ada.change("count", PromptChange(name="sum", tags=["Größe"]))
    assert (changed.uses, ben.find("ada:sum").tags, ben.find("ada:sum").uses) == (3, ["Größe"], 3)


def test_only_its_owner_changes_shares_and_deletes_a_prompt(
    prompts: dict[str, TeamPrompts], teams: dict[str, str]
) -> None:
    ada, ben = prompts["ada"], prompts["ben"]
    ada.add(new_prompt("mine", "text"))
    ada.share("mine", "org")
    for change in (
        lambda: ben.change("ada:mine", PromptChange(text="stolen")),
        lambda: ben.remove("ada:mine"),
        lambda: ben.share("ada:mine", teams["Shop"]),
        lambda: ben.unshare("ada:mine", "org"),
        lambda: ben.remove("mine"),
    ):
        with pytest.raises(NothingFound):
            change()
    assert ada.find("mine").text == "text"
    ben.add(new_prompt("mine", "of ben"))
    assert (ben.find("mine").text, ben.find("ada:mine").text) == ("of ben", "text")


def test_prompts_are_shared_only_with_ones_own_teams(prompts: dict[str, TeamPrompts], teams: dict[str, str]) -> None:
    ben = prompts["ben"]
    ben.add(new_prompt("mine", "text"))
    assert [one.key for one in ben.audiences] == [teams["Shop"], "org"]
    for audience in (teams["Maps"], "team-999", "team-x", "", "org; drop table prompt"):
        with pytest.raises(NothingFound):
            ben.share("mine", audience)
    assert ben.find("mine").shared_with == []


@pytest.mark.usefixtures("prompts")
def test_a_team_that_one_leaves_shares_nothing_with_one(demo: DemoServed) -> None:
    database, ada = demo.served.context.database, demo.person("ada")
    with database.transaction() as connection:
        team = new_team(connection, ada, "Passing")
        set_members(connection, ada, team, ["ada", "liz"])
    own = TeamPrompts(database, demo.person("ada"))
    own.add(new_prompt("passing", "text"))
    own.share("passing", f"team-{team}")
    assert "ada:passing" in keys(TeamPrompts(database, demo.person("liz")))
    with database.transaction() as connection:
        set_members(connection, ada, team, ["ada"])
    assert "ada:passing" not in keys(TeamPrompts(database, demo.person("liz")))
    with database.transaction() as connection:
        connection.execute("delete from team where id = %s", (team,))
    assert own.find("passing").shared_with == []


def test_a_name_is_taken_once_also_at_the_same_time(prompts: dict[str, TeamPrompts]) -> None:
    told: list[str] = []

    def add() -> None:
        try:
            prompts["liz"].add(new_prompt("once", "text"))
            told.append("saved")
        except UsageError as error:
            told.append(error.message)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["saved", *["there is a saved prompt once already"] * 3]


# In the browser


@pytest.mark.usefixtures("prompts")
def test_a_prompt_is_saved_shared_and_used_in_the_viewer(demo: DemoServed) -> None:
    ada, ben = demo.browser("ada"), demo.browser("ben")
    chat = demo.chat("ada", FLAKY)
    page = ada.get(f"/chats/{chat}").text
    link = page.partition(">save prompt<")[0].rpartition('href="')[2].partition('"')[0]
    assert "flaky test" in ada.get(link).text
    assert "flaky test" in ben.get(link).text  # the chat is shared with him
    message = link.split("/")[4]
    saved = ada.submit("/prompts", name="find-out", text="why {{what}}?", chat=chat, message=message, tags="ci")
    assert saved.url.path == "/prompts/find-out"
    assert f"/chats/{chat}?at=" in saved.text
    assert ben.get("/prompts/ada:find-out").status_code == 404
    assert "Shared with everyone" in ada.submit("/prompts/find-out", action="share", audience="org").text
    seen = ben.get("/prompts/ada:find-out").text
    assert f"/chats/{chat}" not in seen
    assert "Stop sharing" not in seen
    assert ">Edit<" not in seen
    assert "why it?" in ben.submit("/prompts/ada:find-out", action="fill", **{"value-what": "it"}).text.replace(
        '<span data-variable="what" class="variable">it</span>', "it"
    )
    assert "1 use" in ada.get("/prompts").text
    assert ben.submit("/prompts/ada:find-out", action="delete").status_code == 404
    assert ben.get("/prompts/ada:find-out/command").text.endswith("why $ARGUMENTS?\n")
    assert "find-out" not in ada.submit("/prompts/find-out", action="delete").text
    assert ben.get("/prompts/ada:find-out").status_code == 404
    assert "prompt.share" in ada.get("/audit").text


def test_an_export_has_ones_own_prompts_only(demo: DemoServed, prompts: dict[str, TeamPrompts]) -> None:
    prompts["ada"].add(new_prompt("of-ada", "text"))
    prompts["ada"].share("of-ada", "org")
    prompts["ben"].add(new_prompt("of-ben", "text"))
    content = demo.browser("ben").get("/prompts.json").json()
    names = [one["name"] for one in content["prompts"]]
    assert "of-ben" in names
    assert "of-ada" not in names
    added = demo.browser("ben").submit("/prompts.json", file='{"prompts": [{"name": "moved", "text": "{{x}}"}]}')
    assert "Added 1 prompt." in added.text
    assert prompts["ben"].find("moved").variables == ("x",)


def test_a_form_of_another_site_changes_nothing(demo: DemoServed, prompts: dict[str, TeamPrompts]) -> None:
    ada = demo.browser("ada")
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = ada.post("/prompts", headers=headers, data={"name": "evil", "text": "t"})
        assert answer.status_code == 403
    with pytest.raises(NothingFound):
        prompts["ada"].find("evil")


# For agents


def test_agents_list_and_get_what_their_person_may_use(demo: DemoServed, prompts: dict[str, TeamPrompts]) -> None:
    prompts["ada"].add(new_prompt("shared", "do {{what}} now"))
    prompts["ada"].share("shared", "org")
    prompts["ada"].add(new_prompt("own", "mine"))
    with demo.served.context.database.transaction() as connection:
        secrets = {name: new_key(connection, demo.person(name), "agent", ["mcp"]) for name in ("ada", "liz")}

    def ask(who: str, method: str, **params: object) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**HEADERS, "authorization": f"Bearer {secrets[who]}"}
        answer = httpx.post(f"{demo.served.url}/mcp", json=body, headers=headers, timeout=60, trust_env=False)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    listed = {one["name"]: one for one in ask("liz", "prompts/list")["result"]["prompts"]}
    assert "own" not in listed
    assert "ada:own" not in listed
    assert listed["ada:shared"]["arguments"] == [{"name": "what", "required": True}]
    assert "shared by ada" in listed["ada:shared"]["description"]
    got = ask("liz", "prompts/get", name="ada:shared", arguments={"what": "it"})["result"]
    assert got["messages"][0]["content"]["text"] == "do it now"
    assert "own" in {one["name"] for one in ask("ada", "prompts/list")["result"]["prompts"]}
    for key in ("ada:own", "own", "ben:none"):
        assert "error" in ask("liz", "prompts/get", name=key)
    assert prompts["ada"].find("shared").uses == 1
    assert prompts["ada"].find("own").uses == 0
