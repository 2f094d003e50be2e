"""What agents did is on a team server as it is in their session's files: found, shown, counted, for who may read it."""

import shutil
from pathlib import Path

import pytest

from backscroll.team.arrival.devices import new_device
from backscroll.team.arrival.intake import take
from backscroll.team.arrival.libraries import Libraries
from tests.oracle.recount import inputs_of, sessions
from tests.oracle.test_agents import RECORDINGS, home_of
from tests.sync.support import Device
from tests.team.demo_served import DemoServed


@pytest.mark.all
def test_every_call_of_a_session_and_its_agents_is_on_the_server(demo: DemoServed, tmp_path: Path) -> None:
    """Of agents in files of their own, nested, forked and in the background, and of one in progress rows only."""
    home = home_of(tmp_path / "progress", "progress")
    shutil.copytree(RECORDINGS / "agents", home, dirs_exist_ok=True)
    context = demo.served.context
    with context.database.transaction() as connection:
        name = new_device(connection, demo.person("liz"), "recorded").device
    device = Device(tmp_path, name, signs=False)
    for path in home.rglob("*.json*"):
        device.write(str(path.relative_to(home)), path.read_bytes())
    device.keep()
    device.push(context.objects)
    take(Libraries(demo.folder / "server", context.database), context.objects, name)
    liz, ada = demo.browser("liz"), demo.browser("ada")
    assert ada.get(f"/api/v1/chats/{next(iter(sessions(home)))}").status_code == 404
    for chat in sessions(home):
        liz.submit(f"/chats/{chat}/audience", audience="org")
    for reader in (liz, ada):
        shown = []
        for chat in sessions(home):
            agents = [one["id"] for one in reader.get(f"/api/v1/chats/{chat}/agents").json()["agents"]]
            for place in ("", *(f"?agent={agent}" for agent in agents)):
                messages = reader.get(f"/api/v1/chats/{chat}/messages{place}").json()["messages"]
                shown += [call["id"] for said in messages for call in said["calls"]]
        assert sorted(shown) == sorted(inputs_of(home))
        for word in ("NAILWORD", "AGENTONE"):
            assert reader.get(f"/api/v1/search?q={word}").json()["total_chats"] == 1
    rows = liz.get(f"/api/v1/stats/tools?q=session:{' OR session:'.join(sessions(home))}").json()
    assert rows["total"]["calls"] == len(inputs_of(home))
