"""An administrator, an owner or an auditor wants to read a member's private chats. None of them may, by any way.

The texts of the member have words that nothing else has. Each attack ends with a sweep over every route of the
application: none of these words may be in any answer.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.routing import Mount, Route

from backscroll.team.serving.app import ROUTES, VIEWER_ROUTES
from tests.attack.as_users import PASSWORD, Started, Visitor, link_in, machine, send, started
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database, older_postgres

__all__ = ["older_postgres"]
pytestmark = pytest.mark.all

PRIVATE = "@ cwd=/home/dev/work\na <- - user: ask the qvxcanary for help\nb <- a assistant(m1): the qvxcanary sang"
SHARED = "@ cwd=/home/dev/zoo\nc <- - user: feed the qvxostrich\nd <- c assistant(m2): the qvxostrich is fed"
CANARY = re.compile("qvx[a-z]+")
CHATS = {name: session_uuid(name) for name in ("private", "shared")}
STOLEN = "stolen horse battery"
ROLES = {"zoe": "member", "ann": "admin", "oda": "owner", "aud": "auditor", "bob": "member"}


@dataclass
class House:
    """Zoe has private chats. Everyone else is an administrator of some kind, or a colleague."""

    server: Started
    folder: Path
    people: dict[str, Visitor] = field(default_factory=dict)
    zoes_password: str = PASSWORD
    """Tests may run in any order, and some give her another one."""

    def joins(self, handle: str, link: str, password: str = PASSWORD) -> Visitor:
        self.people[handle] = self.server.visitor()
        self.people[handle].open_link(link, password)
        assert handle in self.people[handle].get("/account").text
        return self.people[handle]


@pytest.fixture(scope="module", params=["its own database", "older_postgres"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("attack")
    with ExitStack() as stack:
        is_own = request.param == "its own database"
        url = "" if is_own else stack.enter_context(fresh_database(request.getfixturevalue(request.param)))
        server = stack.enter_context(started(database=url))
        made = House(server, folder)
        owner = made.joins("admin", server.link)
        for handle, role in (
            ("zoe", "member"),
            ("ann", "admin"),
            ("oda", "owner"),
            ("aud", "auditor"),
            ("bob", "member"),
        ):
            made.joins(handle, owner.invites(handle, role))
        send(server, made.people["zoe"], folder / "zoe", private=PRIVATE, shared=SHARED)
        zoe = made.people["zoe"]
        zoe.submit("/prompts", name="zprompt", text="the qvxprompt of {{what}}")
        zoe.submit("/account/keys", name="zkey", scope="read")
        assert CANARY.search(zoe.get(f"/chats/{CHATS['private']}").text)
        yield made


def paths() -> list[tuple[str, str]]:
    """Every route of the application with every method, filled in with what is Zoe's."""
    values = {
        "chat": CHATS["private"],
        "id": CHATS["private"],
        "handle": "zoe",
        "prompt": "zoe:zprompt",
        "report": "usage",
    }
    found = []
    for route in [*ROUTES, *VIEWER_ROUTES]:
        inner = route.routes if isinstance(route, Mount) else [route]
        prefix = route.path if isinstance(route, Mount) else ""
        for one in inner or []:
            if isinstance(one, Route):
                path = re.sub(r"{(\w+)(?::\w+)?}", lambda name: values.get(name[1], "1"), prefix + one.path)
                found += [(method, path) for method in sorted((one.methods or set()) - {"HEAD"})]
    return found


LEAVES = {"/sign-out"}
"""What would end the attack."""
SEARCHES = (
    "/search?q=sang /api/v1/search?q=sang /palette?q=ask /chats?q=owner:zoe /api/v1/chats?q=owner:org /shared?q=help"
    " /stats/prompts /api/v1/stats/prompts /prompts/zoe:zprompt"
).split()


def sweep(intruder: Visitor, *, is_unconfirmed: bool = True) -> int:
    """Ask for everything, and while it is not confirmed also send every form: nothing of Zoe's may come back."""
    tried = 0
    form = {"handle": "zoe", "name": "x", "scope": "read", "audience": "org", "days": "3", "answer": "yes",
            "action": "share", "confirm": "no", "link": "x", "password": "x"}  # fmt: skip
    for method, path in [*paths(), *(("GET", path) for path in SEARCHES)]:
        if path in LEAVES or (method == "POST" and not is_unconfirmed):
            continue
        data = form if method == "POST" else None
        with intruder.stream(method, path, data=data, headers=intruder.origin) as answer:
            if "text/event-stream" in answer.headers.get("content-type", ""):
                assert not is_unconfirmed, "no live events before it is confirmed"
                continue
            text = answer.read().decode(errors="replace")
        assert not CANARY.findall(text), (method, path)
        assert "bsk_" not in text, "no key is made"
        tried += 1
    return tried


MAKERS = ("admin", "oda", "ann")


@pytest.mark.parametrize("maker", MAKERS)
def test_a_link_for_a_member_shows_nothing_of_the_member(house: House, maker: str) -> None:
    intruder, zoe = house.server.visitor(), house.people["zoe"]
    landed = intruder.open_link(house.people[maker].link_for("zoe"), STOLEN)
    assert landed.url.path == "/recovery"
    assert "Confirm that this account is yours" in landed.text
    assert sweep(intruder) > 110
    for path in ("/", "/chats", "/account", f"/chats/{CHATS['private']}"):
        assert intruder.get(path).url.path == "/recovery"
    refused = intruder.get("/api/v1/chats")
    assert refused.status_code == 403
    assert "until it is confirmed" in refused.json()["error"]["message"]

    # A session of one's own does not help: nothing lets it confirm itself.
    for number in range(1, 12):
        for path in (f"/account/recoveries/{number}", f"/recoveries/{number}/approve"):
            assert intruder.submit(path, answer="yes").status_code in (403, 404)
    again = house.server.visitor()
    assert again.sign_in("zoe", STOLEN).url.path == "/recovery"
    assert sweep(again) > 110

    # A machine of the intruder is not let in, and has no account to confirm with.
    asked = house.server.visitor().post("/sync/v1/connect", json={"machine": "x"}).json()
    assert intruder.submit("/connect", code=asked["code"], answer="yes").status_code == 403
    waiting = house.server.visitor().get("/sync/v1/connect", headers={"authorization": f"Bearer {asked['secret']}"})
    assert waiting.status_code == 202
    code = re.search(r"--confirm ([A-Z]{4}-[A-Z]{4})", intruder.get("/recovery").text)
    assert code
    for secret in ("x", asked["secret"], next(iter(intruder.cookies.jar)).value):
        answer = house.server.visitor().post(
            "/sync/v1/recovery", json={"code": code[1], "is_mine": True}, headers={"authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == 401

    # Zoe is told, who did it; her password and her sessions work as before; she ends it.
    told = zoe.get("/account").text
    assert f"<strong>{maker}</strong> made a link for your account" in told
    assert "notice" in zoe.get("/chats").text
    number = re.findall(r"/account/recoveries/(\d+)", told)[0]
    at_sign_in = house.server.visitor().sign_in("zoe")
    assert at_sign_in.url.path == "/account"
    assert "made a link for your account" in at_sign_in.text
    zoe.submit(f"/account/recoveries/{number}", answer="no")
    assert intruder.get("/recovery").url.path == "/sign-in"
    assert house.server.visitor().sign_in("zoe", STOLEN).url.path == "/sign-in"
    assert "was not confirmed" in zoe.get("/account").text
    zoe.submit(f"/account/recoveries/{number}", answer="dismiss")
    assert "made a link" not in zoe.get("/account").text
    log = re.sub(r"<[^>]+>", " ", house.people["oda"].get("/audit").text)
    assert re.search(rf"link by {maker}\s+recovery\.open\s+zoe", log)
    assert re.search(rf"zoe\s+recovery\.refuse\s+zoe\s+link by {maker}", log)


def test_an_owner_does_not_make_a_second_one_who_approves(house: House) -> None:
    """Neither with a new owner who approves, nor with one who makes the link."""
    owner = house.people["admin"]
    puppet = house.joins("puppet", owner.invites("puppet", "owner"))
    for maker, approver in ((owner, puppet), (puppet, owner), (house.people["ann"], owner)):
        intruder = house.server.visitor()
        intruder.open_link(maker.link_for("zoe"), STOLEN)
        page = approver.get("/people").text
        assert "Waiting to be confirmed" in page
        assert "/approve" not in page
        numbers = range(1, 30)
        for one in (approver, maker, house.people["aud"]):
            answers = {one.submit(f"/recoveries/{number}/approve").status_code for number in numbers}
            assert answers <= {400, 404}
        assert intruder.get("/").url.path == "/recovery"
        assert sweep(intruder) > 110
    # An owner's own account is no different: the puppet cannot become the other owner, who could approve.
    intruder = house.server.visitor()
    intruder.open_link(owner.link_for("oda"), STOLEN)
    assert intruder.get("/people").url.path == "/recovery"


def test_roles_and_teams_give_no_chat(house: House) -> None:
    """Every role, and every team that one puts oneself into, before and after the chat was shared with it."""
    owner, zoe = house.people["admin"], house.people["zoe"]
    owner.submit("/teams", name="Zoo")
    (team,) = set(re.findall(r'action="/teams/(\d+)"', owner.get("/people").text))
    owner.submit(f"/teams/{team}", member=["zoe", "bob"])
    zoe.submit(f"/chats/{CHATS['shared']}/audience", audience=f"team-{team}")
    zoe.submit("/prompts/zprompt", action="share", audience=f"team-{team}")
    assert house.people["bob"].get(f"/chats/{CHATS['shared']}").status_code == 200
    owner.submit(f"/teams/{team}", member=["zoe", "bob", "admin", "oda", "ann", "aud"], lead=["admin", "ann"])
    for handle in ("admin", "oda", "ann", "aud"):
        assert house.people[handle].get(f"/chats/{CHATS['shared']}").status_code == 404
        assert house.people[handle].get("/prompts/zoe:zprompt").status_code == 404
        assert sweep(house.people[handle], is_unconfirmed=False) > 60
    for role in ("auditor", "admin", "member", "service", "owner"):
        owner.submit("/people/aud/role", role=role)
        assert sweep(house.people["aud"], is_unconfirmed=False) > 60
    # Leaving and coming back is no way in either; Zoe sees who is left out, and lets them in.
    owner.submit(f"/teams/{team}", member=["zoe", "bob"])
    owner.submit(f"/teams/{team}", member=["zoe", "bob", "oda"])
    assert house.people["oda"].get(f"/chats/{CHATS['shared']}").status_code == 404
    page = zoe.get("/shared").text
    assert "without oda" in page
    share = re.findall(r"/shares/(\d+)/include", page)[0]
    assert house.people["oda"].submit(f"/shares/{share}/include").status_code == 404
    zoe.submit(f"/shares/{share}/include")
    assert house.people["oda"].get(f"/chats/{CHATS['shared']}").status_code == 200
    zoe.submit(f"/shares/{share}/revoke")


def test_a_disabled_account_comes_back_as_it_was(house: House) -> None:
    owner = house.people["admin"]
    owner.submit("/people/zoe/disable")
    intruder = house.server.visitor()
    early = owner.link_for("zoe")
    assert intruder.open_link(early, STOLEN).status_code == 404
    owner.submit("/people/zoe/disable", undo="1")
    assert intruder.open_link(early, STOLEN).url.path == "/recovery"
    assert sweep(intruder) > 110
    # In the browser that she has: from this address so much was tried with her handle that another one has to wait.
    assert house.people["zoe"].sign_in("zoe", house.zoes_password).url.path == "/account"


def test_the_person_confirms_it_on_a_machine_and_has_everything_back(house: House) -> None:
    zoe = house.server.visitor()
    page = zoe.open_link(house.people["ann"].link_for("zoe"), "a new horse battery").text
    code = re.search(r"--confirm ([A-Z]{4}-[A-Z]{4})", page)
    assert code
    where = house.folder / "zoe"
    assert machine(where, "connect", house.server.url, "--confirm", "BBBB-BBBB", "--yes").returncode != 0
    done = machine(where, "connect", house.server.url, "--confirm", code[1].lower(), "--yes")
    assert done.returncode == 0, done.stderr
    assert "Confirmed" in done.stdout
    assert CANARY.search(zoe.get(f"/chats/{CHATS['private']}").text)
    assert "zoe/" in zoe.get("/account").text, "the notice says which machine confirmed it"
    assert house.people["zoe"].get("/account").url.path == "/sign-in", "older sessions end"
    stranger = house.server.visitor()
    assert stranger.sign_in("zoe", house.zoes_password).url.path == "/sign-in", "and so does the old password"
    house.people["zoe"], house.zoes_password = zoe, "a new horse battery"


def test_the_person_confirms_it_in_a_session_that_they_have(house: House) -> None:
    elsewhere, here = house.server.visitor(), house.people["zoe"]
    elsewhere.open_link(house.people["ann"].link_for("zoe"), PASSWORD)
    number = re.findall(r'/account/recoveries/(\d+)" class="inline" data-ask', here.get("/account").text)[0]
    here.submit(f"/account/recoveries/{number}", answer="yes")
    for browser in (here, elsewhere):
        assert CANARY.search(browser.get(f"/chats/{CHATS['private']}").text)
    # In the same browser there is nothing to confirm.
    assert here.open_link(house.people["ann"].link_for("zoe"), PASSWORD).url.path == "/account"
    house.zoes_password = PASSWORD
    assert CANARY.search(here.get(f"/chats/{CHATS['private']}").text)


def test_the_operator_opens_an_account_loudly(house: House) -> None:
    said = house.server.operator("recover", "zoe", "--yes")
    link = re.search(r"/welcome\?link=[\w-]+", said)
    assert link
    back = house.server.visitor()
    assert back.open_link(link[0], "an operator's horse").url.path != "/recovery"
    house.people["zoe"], house.zoes_password = back, "an operator's horse"
    assert CANARY.search(back.get(f"/chats/{CHATS['private']}").text)
    assert "The operator of the server</strong> made a link for your account" in back.get("/account").text
    log = re.sub(r"<[^>]+>", " ", house.people["oda"].get("/audit").text)
    assert re.search(r"operator\s+person\.invite\s+zoe", log)
    assert re.search(r"link by operator\s+recovery\.confirm\s+zoe", log)


def test_an_account_that_was_never_joined_is_simply_joined(house: House) -> None:
    owner = house.people["admin"]
    first = owner.invites("newcomer")
    second = link_in(owner.submit("/people/newcomer/invite").text)
    assert house.server.visitor().open_link(first).status_code == 404
    assert house.server.visitor().open_link(second).url.path == "/devices"
