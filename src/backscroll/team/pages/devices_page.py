"""The page about the machines that send to the server."""

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.terminal import size
from backscroll.team.arrival.devices import RegisteredDevice, devices_of, revoke_device
from backscroll.team.operating.undo_import import ask_undo
from backscroll.team.pages.parts import button, moment_text, table, team_document, with_copy
from backscroll.team.pages.requests import TeamRequest, see


def show(request: TeamRequest) -> Html:
    """Show the machines of the person; to an administrator those of everyone, not what they sent."""
    person = request.person
    devices = devices_of(request.connection, person, of_all=person.is_administrator)
    command = f"backscroll connect {request.context.url}"
    approved = el(
        "p", "You approved the machine. The command in its terminal continues on its own; ",
        el("a", "reload this page", href="/devices"), " in a few seconds to see it here.",
        class_="notice", role="status",
    )  # fmt: skip
    return team_document(
        "Devices",
        person,
        "/devices",
        approved if request.get("connected") else NOTHING,
        table(
            ("Machine", "Connected", "Last seen", "Sent", ""),
            (_row(device) for device in devices),
            "" if request.get("connected") else "No machine is connected yet.",
            numbers=("Sent",),
        ),
        el(
            "p",
            "An import was made by the operator of this server. Undoing it removes from the server what it brought,"
            " and nothing else.",
            class_="muted",
        )
        if any(device.is_import for device in devices)
        else NOTHING,
        el("h2", "Connect a machine"),
        el("p", "Run this command on it. It first shows what would be sent, and sends nothing until you agree:"),
        with_copy(el("pre", command, class_="command", tabindex=0), command),
        lead="Machines that send their conversations to this server. A machine can add its own, and"
        " read and remove what it has sent itself; of everything else it can read nothing.",
    )


def _row(device: RegisteredDevice) -> tuple[object, ...]:
    return (
        el("strong", device.name),
        moment_text(device.created),
        moment_text(device.seen),
        size(device.sent_bytes),
        _end(device),
    )


def _end(device: RegisteredDevice) -> Html:
    if device.undone:
        return el("span", "import undone ", moment_text(device.undone), class_="muted")
    if device.is_import:
        ask = f"Undo {device.name}? This removes from the server what this import brought, and nothing else."
        return button(f"/devices/{device.id}/undo", "Undo this import", ask=ask, about=device.name)
    if device.revoked:
        return el("span", "revoked ", moment_text(device.revoked), class_="muted")
    ask = f"Revoke {device.name}? It can send nothing more until it is connected again. What it has sent stays."
    return button(f"/devices/{device.id}/revoke", "Revoke", ask=ask, about=device.name)


def revoke(request: TeamRequest) -> Response:
    """Revoke a machine."""
    revoke_device(request.connection, request.person, request.number("device"))
    return see("/devices")


def undo(request: TeamRequest) -> Response:
    """Undo an import."""
    ask_undo(request.connection, request.person, str(request.number("device")))
    return see("/devices")
