"""Chats that became one, with the ids under which their sessions were first shown.

These rows are written in the transaction that writes the chats, so that no reader sees a joined chat without them.
`team.shares` decides which joined chats the readers of a team server may see.
"""

from typing import TYPE_CHECKING, Final

from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.faults import translate_errors

if TYPE_CHECKING:
    from collections.abc import Collection


def note_chats(connection: PgConnection, chats: "Collection[int]") -> None:
    """Record the sessions of these chats that are new, and the chats that are made of several."""
    raw, values = connection.as_owner(), {"build": connection.build, "chats": list(chats)}
    with translate_errors():
        for statement in (FIRST, SPLIT, JOINED):
            raw.execute(statement, values)


def forget_gone(connection: PgConnection, org: int) -> None:
    """Delete the sessions that are no longer in this build."""
    with translate_errors():
        connection.as_owner().execute(GONE, {"build": connection.build, "org": org})


FIRST: Final = """
insert into first_chats (org, session, chat)
select b.org, f.session, min(c.name) from files f join chats c on c.build = f.build and c.id = f.chat
  join builds b on b.id = f.build
where f.build = %(build)s and f.chat = any(%(chats)s) and f.kind = 'session' and f.session is not null
group by b.org, f.session on conflict do nothing
"""
PARTS: Final = """
parts as (
  select c.name as chat, n.chat as part from files f join chats c on c.build = f.build and c.id = f.chat
    join builds b on b.id = f.build join first_chats n on n.org = b.org and n.session = f.session
  where f.build = %(build)s and f.chat = any(%(chats)s) and f.kind = 'session'
  union select c.name, c.name from chats c where c.build = %(build)s and c.id = any(%(chats)s))
"""
SPLIT: Final = f"""
with {PARTS}
delete from joined_chats j using parts p where j.build = %(build)s and (p.chat in (j.chat, j.part) or p.part = j.part)
"""  # noqa: S608 - no values in it
JOINED: Final = f"""
with {PARTS}
insert into joined_chats (build, chat, part) select %(build)s, p.chat, p.part from parts p
where (select count(*) from parts o where o.chat = p.chat) > 1
"""  # noqa: S608
GONE: Final = """
delete from first_chats n where n.org = %(org)s
  and not exists (select 1 from files f where f.build = %(build)s and f.session = n.session)
"""
