"""On a team server: who asks, whose a chat is, and whose chats a list shows."""

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
"""The handle of the person who asks; empty where there is one person only."""
OWNERS: Final = (("me", "Mine"), ("team", "My teams"), ("org", "Everyone"))
SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Whose chats a query asks for does not depend on the time."""


def owner_name(machines: Sequence[str]) -> str:
    """Whose a chat is: the name of each machine on a server begins with the handle of its person."""
    return machines[0].partition("/")[0] if ASKER.get() and machines else ""


def author_name(machines: Sequence[str]) -> str:
    """Who typed the prompts of a chat, as a reader is told."""
    owner = owner_name(machines)
    return owner if owner and owner != ASKER.get() else "You"


def owner_badge(machines: Sequence[str]) -> Html:
    """The owner of a chat, “You” for one's own; nothing where there is one person only."""
    owner = owner_name(machines)
    if not owner:
        return NOTHING
    where = chats_address(field_text("owner", "me" if owner == ASKER.get() else owner))
    return el("a", author_name(machines), href=where, class_="badge owner", title="Owner")


def machine_name(machine: str) -> str:
    """What a machine is called, without its person where the owner is named already."""
    return machine.partition("/")[2] or machine if ASKER.get() else machine


def owner_tabs(text: str, default: str, address_of: Callable[[str], str]) -> Html:
    """Whose chats to show; `default` is what a query that does not say means, `address_of` leads to another query."""
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
