"""The person who asks, on a team server; owners of chats, and tabs that choose whose chats a list shows."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from backscroll.query.errors import QueryError
from backscroll.query.parse import parse
from backscroll.query.tree import All, Field, Query
from backscroll.query.write import field_text, write
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.web.addresses import chats_address

ASKER: ContextVar[str] = ContextVar("asker", default="")
"""Handle of the person who asks; empty if there is one person only."""
OWNERS: Final = (("me", "Mine"), ("team", "My teams"), ("org", "Everyone"))
SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Any time will do: the owners that a query names do not depend on it."""


def owner_name(machines: Sequence[str]) -> str:
    """Return the owner of a chat: the name of each machine on a server begins with the handle of its person."""
    return machines[0].partition("/")[0] if ASKER.get() and machines else ""


def author_name(machines: Sequence[str]) -> str:
    """Return the author of a chat's prompts, as shown to a reader."""
    owner = owner_name(machines)
    return owner if owner and owner != ASKER.get() else "You"


def owner_badge(machines: Sequence[str]) -> Html:
    """Return the owner's badge, “You” for one's own chats; nothing if there is one person only."""
    owner = owner_name(machines)
    if not owner:
        return NOTHING
    where = chats_address(field_text("owner", "me" if owner == ASKER.get() else owner))
    return el("a", author_name(machines), href=where, class_="badge owner", title="Owner")


def machine_name(machine: str) -> str:
    """Return the name of a machine, without its person where the owner is named already."""
    return machine.partition("/")[2] or machine if ASKER.get() else machine


def owner_tabs(text: str, default: str, address_of: Callable[[str], str]) -> Html:
    """Return tabs that choose whose chats to show.

    `default` is what a query without an owner means; `address_of` returns the address of another query.
    """
    if not ASKER.get():
        return NOTHING
    try:
        query = parse(text, SOME_TIME)
    except QueryError:
        return NOTHING
    named = [part for part in query.root.parts if isinstance(part, Field) and part.name == "owner"]
    rest = write(Query("", All(tuple(part for part in query.root.parts if part not in named))))
    here = str(named[0].value).lower() if named else default
    here = "me" if here == ASKER.get() else here
    links = []
    for value, name in OWNERS:
        wanted = rest if value == default else f"{field_text('owner', value)} {rest}".strip()
        links.append(el("a", name, href=address_of(wanted), aria_current="true" if value == here else None))
    return el("nav", links, class_="tabs owners", aria_label="Whose chats")
