"""A sync that is started and watched on the settings page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backscroll.disk import FileLock
from backscroll.library.syncing.remote_settings import RemoteSettings, sync_folder_of, write_remote
from backscroll.sync.remotes import Folder
from tests.journeys.visitor import Site, Visitor, keep_picture
from tests.library.support import Shelf
from tests.support.homes import session_file, write_home
from tests.web.served import serving

CHAT = """
@ session=S1 cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant(m1): done
"""


@pytest.fixture(params=[False, True], ids=["still", "following"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Shelf, Path]]:
    """A viewer with a remote that nothing was sent to."""
    shelf = Shelf(tmp_path)
    write_home(shelf.home, session_file("S1", CHAT))
    folder = tmp_path / "nas"
    with shelf.open() as library:
        library.update()
    write_remote(shelf.settings, RemoteSettings(name="nas", url=str(folder), is_paused=True))
    with serving(shelf, follows=request.param) as served:
        yield Site.of(served), shelf, folder


def test_a_sync_is_started_and_its_result_shown(visitor: Visitor, site: tuple[str, Shelf, Path]) -> None:
    address, shelf, folder = site
    page = visitor.page(f"{address}/settings")
    section = page.locator("#sync")
    expect(section).to_contain_text("never")
    expect(section.get_by_role("button", name="Sync now")).to_have_count(0)  # it is paused

    with FileLock(sync_folder_of(shelf.settings) / "nas.lock", "", ""):  # as long as another process syncs
        section.get_by_role("button", name="Resume nas").click()
        expect(section.get_by_role("button", name="Syncing …")).to_be_disabled()
        keep_picture(page, "settings-syncing")
        assert not [*Folder(folder).list()]
    again = section.get_by_role("button", name="Sync now")
    expect(again).to_be_enabled()  # the page has seen by itself that it ended

    again.click()
    expect(section.get_by_role("button", name="Sync now")).to_be_enabled()
    expect(section).to_contain_text("this machine")
    expect(section).not_to_contain_text("to be sent")
    expect(section.locator("dd").nth(1)).not_to_contain_text("never")
    keep_picture(page, "settings-synced")
    assert [*Folder(folder).list()]
