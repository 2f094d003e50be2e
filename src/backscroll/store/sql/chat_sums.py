"""Tokens and cost of each chat: the sums of what was counted in its files, and of requests without a record.

This is the only writer of these columns. `counting` reports which files' sums have changed, `chat_writing` which chats
have other files than before; a change of prices changes all chats.
"""

from collections.abc import Iterable
from typing import Final

from backscroll.store.sql.statements import RowWriter, array, select


def renew_chat_sums(connection: RowWriter, chats: Iterable[int], files: Iterable[int]) -> None:
    """Sum up these chats and those that these files are part of, inside an open transaction."""
    numbers = {*chats}
    if changed := {*files}:
        numbers.update(chat for (chat,) in select(connection, CHATS_OF, (array(sorted(changed)),)))
    connection.executemany(RENEW, [(chat,) * 5 for chat in sorted(numbers)])


def renew_all_chat_sums(connection: RowWriter) -> None:
    """Sum up every chat, inside an open transaction."""
    renew_chat_sums(connection, [chat for (chat,) in select(connection, "select id from chats")], ())


CHATS_OF: Final = """
select distinct chat from files where chat is not null and id in (select value from json_each(?))
"""
RENEW: Final = """
update chats set
  tokens = (select coalesce(sum(s.input + s.output + s.cache_write + s.cache_read), 0)
    from files f join spent s on s.file = f.id where f.chat = ? and s.model <> '<synthetic>'),
  unrecorded_tokens = (select coalesce(sum(u.input + u.output + u.cache_write + u.cache_read), 0)
    from files f join unrecorded u on u.file = f.id where f.chat = ?),
  unrecorded_cost = (select sum(u.cost) from files f join unrecorded u on u.file = f.id where f.chat = ?),
  cost = (select sum(s.cost) from files f join spent s on s.file = f.id where f.chat = ? and s.messages > s.unpriced)
where id = ?
"""
