"""A person changes their own password on Account."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser as RealBrowser
from playwright.sync_api import expect

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.accounts import person_of
from backscroll.team.people.invitations import invite_again
from tests.journeys.visitor import NARROW, WIDE
from tests.support.postgres import fresh_database
from tests.support.samples import mostly_in_all
from tests.team.sending import invited, owner_of_server
from tests.team.served import PASSWORD, Browser, Served, serving

NEW = "staple of another horse"


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("server"), works=False) as found:
        owner_of_server(found)
        yield found


def _change(browser: Browser, current: str = PASSWORD, new: str = NEW, again: str | None = None) -> str:
    return browser.submit("/account/password", current=current, new=new, again=new if again is None else again).text


def _enters(served: Served, handle: str, password: str) -> bool:
    answer = served.browser().submit("/sign-in", handle=handle, password=password, next="/devices")
    return answer.url.path in ("/devices", "/account")  # where a notice is, if there is one


def test_the_new_password_counts_and_only_this_session_stays(served: Served) -> None:
    invited(served, "ada", "bob")
    here, elsewhere, other = (served.signed_in(handle) for handle in ("ada", "ada", "bob"))
    with served.context.database.transaction() as connection:
        link = invite_again(connection, person_of(connection, 1, "admin"), "ada")
    assert "Your password was changed" in _change(here)
    assert here.get("/account").url.path == "/account"
    assert elsewhere.get("/account").url.path == "/sign-in"
    assert other.get("/account").url.path == "/account"
    assert not _enters(served, "ada", PASSWORD)
    assert _enters(served, "ada", NEW)
    served.browser().submit("/welcome", link=link, password=PASSWORD)
    assert not _enters(served, "ada", PASSWORD), "a link from before sets no password"
    audit = served.signed_in("admin").get("/audit").text
    assert "password.change" in audit
    assert NEW not in audit


def test_what_is_wrong_is_said_beside_the_field_and_nothing_changes(served: Served) -> None:
    invited(served, "eve")
    browser, elsewhere = served.signed_in("eve"), served.signed_in("eve")
    for told, name, form in (
        ("This is not your current password.", "current", {"current": "x" * 12}),
        ("This is not your current password.", "current", {"current": ""}),
        ("A password has 12 to 256 characters.", "new", {"new": "x" * 11}),
        ("A password has 12 to 256 characters.", "new", {"new": "x" * 257}),
        ("The new passwords are not the same.", "again", {"again": f"{NEW} "}),
    ):
        page = _change(browser, **form)
        assert f'id="{name}-problem">{told}<' in page
        assert page.count("aria-invalid") == page.count('-problem">') == 1
        assert NEW not in page
    assert elsewhere.get("/account").url.path == "/account"
    assert _enters(served, "eve", PASSWORD)


def test_guesses_end_here_and_at_the_door(served: Served) -> None:
    invited(served, "guy")
    browser = served.signed_in("guy")
    for number in range(10):
        assert "not your current password" in _change(browser, current=f"guess number {number}")
    answer = browser.submit("/account/password", current=PASSWORD, new=NEW, again=NEW)
    assert answer.status_code == 503
    assert "too many failed attempts" in answer.text.lower()
    assert browser.submit("/sign-in", handle=" GUY", password=PASSWORD).status_code == 503
    served.signed_in("guy")  # another browser: the person is not shut out


@pytest.mark.parametrize("scheme", mostly_in_all(["light", "dark"], each=2))
def test_it_is_changed_with_the_keyboard(served: Served, browser: RealBrowser, scheme: str) -> None:
    handle = f"kay-{scheme}"
    invited(served, handle)
    cookies = [
        {"name": one.name, "value": one.value, "url": served.url} for one in served.signed_in(handle).cookies.jar
    ]
    context = browser.new_context(
        viewport=WIDE if scheme == "light" else NARROW, bypass_csp=True, reduced_motion="reduce", base_url=served.url,
        color_scheme=scheme,  # type: ignore[arg-type]
    )  # fmt: skip
    context.add_cookies(cookies)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto("/account")
    page.get_by_label("Current password").focus()
    for typed in ("not this one at all", NEW, NEW):
        page.keyboard.type(typed)
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Change the password")).to_be_focused()
    page.keyboard.press("Enter")
    current = page.get_by_label("Current password")
    expect(current).to_be_focused()
    expect(current).to_have_accessible_description("This is not your current password.")
    expect(current).to_have_value("")
    wrong = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [one["id"] for one in wrong if one["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for typed in (PASSWORD, NEW, NEW):
        page.keyboard.type(typed)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Your password was changed")).to_be_visible()
    context.close()
