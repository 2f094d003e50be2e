"""People who send: a machine of a person, with a real archive, that pushes over HTTP to a server that runs."""

from dataclasses import dataclass
from pathlib import Path

from backscroll.sync.remotes import Remote, open_remote
from backscroll.team.arrival.devices import new_device
from backscroll.team.people.accounts import Person, person_of
from tests.support.homes import session_file
from tests.sync.support import Device
from tests.team.served import PASSWORD, Served, member


@dataclass
class Machine:
    """A machine that was let in."""

    device: Device
    remote: Remote
    secret: str

    def push(self, **drawings: str) -> None:
        """Write sessions, keep them, send them."""
        for name, drawing in drawings.items():
            for path, data in session_file(name, drawing).items():
                self.device.write(path, data)
        self.device.keep()
        self.device.push(self.remote)


def machine_of(served: Served, person: Person, folder: Path, name: str = "laptop") -> Machine:
    with served.context.database.transaction() as connection:
        let_in = new_device(connection, person, name)
    device = Device(folder, let_in.device, signs=False)
    return Machine(device, open_remote(served.url, let_in.secret), let_in.secret)


def owner_of_server(served: Served) -> Person:
    """The first administrator, who has chosen a password."""
    if served.first_link:
        link = served.first_link.partition("link=")[2]
        served.browser().submit("/welcome", link=link, password=PASSWORD)
        served.first_link = None
    with served.context.database.transaction() as connection:
        return person_of(connection, 1, "admin")


def invited(served: Served, *handles: str, role: str = "member") -> list[Person]:
    owner = owner_of_server(served)
    return [member(served.context.database, owner, handle, role) for handle in handles]
