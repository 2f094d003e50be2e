"""A team to try the server with: three people in two teams, who have sent the sample conversations and share some.

Everything happens as with real people: each has a machine with a home, which keeps it and pushes it, and the worker's
own code takes it into a library.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.library import Home
from backscroll.library.keeping.keep import keep
from backscroll.library.prompts.prompt import new_prompt
from backscroll.library.syncing.remote_settings import RemoteSettings, write_remote
from backscroll.library.syncing.sync import sync
from backscroll.settings import Settings
from backscroll.sync.remotes import open_remote
from backscroll.team.arrival.devices import new_device
from backscroll.team.arrival.intake import take
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.people.accounts import Person, new_org, new_person, person_named, person_of
from backscroll.team.people.secrets import new_secret
from backscroll.team.people.teams import new_team, set_lead, set_members
from backscroll.team.reading.prompts import EVERYONE, TeamPrompts
from backscroll.team.reading.shares import note_access, share, shared_with
from backscroll.team.reading.spend import set_budget, show_small_sums

if TYPE_CHECKING:
    from backscroll.team.database.connections import Database

ORG: Final = "Acme"
PEOPLE: Final = (("ada", "Ada Lovelace", "owner"), ("ben", "Ben Okafor", "member"), ("liz", "Liz Marsh", "member"))
"""Handles have three letters, as in the paths of the sample: a path keeps its length."""
TEAMS: Final = {"Shop": ("ada", "ben"), "Maps": ("liz", "ada")}
"""The first member of a team leads it."""
MACHINES: Final = {"ada": "laptop", "ben": "workstation", "liz": "thinkpad"}
OF_PROJECT: Final = {"-home-ada-ledger": "ben", "-home-ada-trailmap": "liz"}
"""Handles by project; Ada worked in all others."""
OF_SESSION: Final = {
    "43c28033": "ada",
    **dict.fromkeys(("b9313b4a", "0742e1ec", "50218351"), "ben"),
    **dict.fromkeys(("1315437a", "095a9830", "c32ac18b"), "liz"),
}
"""Handles by session, where that is not the person of its project."""
SHARES: Final = (
    ("ada", "129df7b4", None),
    ("ada", "0a3f6266", "Shop"),
    ("ben", "b9313b4a", "Shop"),
    ("ben", "961135d9", None),
    ("liz", "4f81bc3e", "Maps"),
    ("liz", "1315437a", None),
)
"""Shares: owner, session, and team or everyone."""
PROMPTS: Final = (
    ("ada", "Shop", new_prompt(
        "flaky", "{{test}} fails in CI about every second run, and never when I look at it. Find out why. Don't retry"
        " it until it is green.", description="Find out why a test is flaky", tags=["tests"])),
    ("ben", None, new_prompt(
        "release-notes", "Write the release notes of {{version}} from the commits since the last tag: what users see"
        " first, and what needs action of theirs.", tags=["release", "git"])),
)  # fmt: skip
"""Saved prompts: owner, team or everyone, and prompt."""
READERS: Final = {"129df7b4": ("ben", "liz"), "b9313b4a": ("ada",), "4f81bc3e": ("ada",), "1315437a": ("ada", "ben")}
SESSION: Final = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TEXT: Final = (".jsonl", ".json", ".md")


class DemoPerson(NamedTuple):
    """A person to sign in as."""

    handle: str
    name: str
    told: str
    """The role and the teams of the person."""
    secret: str
    """Signs in as this person, as long as the demo runs."""


def make_demo_team(database: "Database", data: Path, objects: str, home: Path, user: str) -> list[DemoPerson]:
    """Fill an empty server with people and their conversations: those in `home`, whose user's folder is `user`."""
    with database.transaction() as connection:
        org = new_org(connection, ORG)
        for handle, name, role in PEOPLE:
            new_person(connection, org, handle, name, role=role)
        owner = person_of(connection, org, "ada")
        teams = {name: new_team(connection, owner, name) for name in TEAMS}
        for name, members in TEAMS.items():
            set_members(connection, owner, teams[name], members)
            set_lead(connection, owner, teams[name], members[0])
        show_small_sums(connection, owner, shown=True)  # else there would be nothing to see: they are three
        set_budget(connection, owner, None, "10")
        set_budget(connection, owner, teams["Shop"], "8")
    libraries = Libraries(data, database)
    for handle, _, _ in PEOPLE:
        _send(database, libraries, data, objects, handle, _part(home, data, handle, user))
    with database.transaction() as connection:
        people = {handle: person_of(connection, org, handle) for handle, _, _ in PEOPLE}
    _share(database, libraries, people, teams)
    for handle, team, prompt in PROMPTS:
        prompts = TeamPrompts(database, people[handle])
        prompts.add(prompt)
        prompts.share(prompt.key, f"team-{teams[team]}" if team else EVERYONE)
    return [DemoPerson(handle, name, _describe(handle, role), new_secret("l")) for handle, name, role in PEOPLE]


def _describe(handle: str, role: str) -> str:
    own = [f"{'lead' if members[0] == handle else 'member'} of {name}" for name, members in TEAMS.items()
           if handle in members]  # fmt: skip
    return ", ".join([*([role] if role != "member" else []), *own])


def _part(home: Path, data: Path, handle: str, user: str) -> Path:
    """A home with the sessions of one person, whose paths are below their own folder."""
    part = data / "machines" / handle / "home"
    folder = str(Path(user).parent / handle)
    names = ((user, folder), (user.replace("/", "-"), folder.replace("/", "-")))
    for file in sorted(home.rglob("*")):
        path = file.relative_to(home)
        if not file.is_file() or _owner(path) != handle:
            continue
        copy = part / str(path).replace(*names[1])
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = file.read_bytes()
        if file.suffix in TEXT:
            for old, new in names:
                content = content.replace(old.encode(), new.encode())
        copy.write_bytes(content)
        shutil.copystat(file, copy)
    return part


def _owner(path: Path) -> str:
    session = SESSION.search(str(path))
    by_project = next((OF_PROJECT[name] for name in path.parts if name in OF_PROJECT), "ada")
    return OF_SESSION.get(session[1], by_project) if session else by_project


def _send(database: "Database", libraries: Libraries, data: Path, objects: str, handle: str, home: Path) -> None:
    """Keep the home of a machine, push it, and take it into the library of its person."""
    with database.transaction() as connection:
        device = new_device(connection, person_named(connection, handle), MACHINES[handle]).device
    folder = data / "machines" / handle
    settings = Settings(homes=(home,), library=folder / "library", file=folder / "settings.toml")
    keep(settings, [Home(home)])
    remote = RemoteSettings(name="team", url=objects, device=device)
    write_remote(settings, remote)
    sent = sync(settings, remote).pushed.stored
    take(libraries, open_remote(objects), device)
    with database.transaction() as connection:
        connection.execute(
            "update device set sent_bytes = %s, stored_bytes = %s, seen = now() where name = %s", (sent, sent, device)
        )


def _share(database: "Database", libraries: Libraries, people: Mapping[str, Person], teams: Mapping[str, int]) -> None:
    """Share some chats, and let others read them."""
    for handle, session, team in SHARES:
        with libraries.own(handle) as library:
            chat = library.find(session).overview
        with database.transaction() as connection:
            share(connection, people[handle], chat.id, chat.title, team=teams[team] if team else None)
            for reader in READERS.get(session, ()):
                for shared in shared_with(connection, people[reader]):
                    if shared.chat == chat.id:
                        note_access(connection, people[reader], shared)
