"""Answer a query: candidates from the text index, grouped by chat and ranked, with the rows they stand in.

The best passages name the chats that may be meant. Those are then looked at as a whole: one in which all the words
were said comes before one in which some were, wherever in it they stand.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import apsw
import msgspec
import tantivy
from tantivy import Query as Engine

from backscroll.conversation import Role
from backscroll.query import Query
from backscroll.store.base import Answer, ChatHits, Hit, Passing, readable
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.compile import Compiled, Compiler, literals
from backscroll.store.local.database import select
from backscroll.store.local.text import TextIndex, in_files

CANDIDATES: Final = 300
"""How many passages are looked at for their chats."""
PROMISING: Final = 60
"""How many chats are looked at as a whole."""
# Chosen with bench/recall.py, on its tuning half.
CHAT_WEIGHT: Final = 3.0
"""What a chat as a whole counts, beside its best passage."""
K1: Final = 1.2
B: Final = 0.75
ABANDONED_WEIGHT: Final = 0.7
MOST_BY_TIME: Final = 20_000
PAGE: Final = 500


class Search:
    """One question to a store."""

    def __init__(self, connection: apsw.Connection, text: TextIndex, passing: Passing) -> None:
        self._connection = connection
        self._searcher: tantivy.Searcher = text.searcher()
        self._passing = passing
        self._rows = ChatRows(connection, passing)

    def run(self, query: Query, *, sort: str, limit: int, offset: int, hits: int) -> Answer:
        """One page of the answer."""
        compiled = Compiler(self._connection, self._searcher, self._passing).compile(query)
        if sort == "relevance" and compiled.is_ranked:
            return self._by_worth(compiled, limit=limit, offset=offset, hits=hits)
        return self._by_time(compiled, oldest_first=sort == "oldest", limit=limit, offset=offset, hits=hits)

    def passages(self, query: Query, *, oldest_first: bool) -> Iterator[Hit]:
        """Every passage that may answer a query, by time."""
        compiled = Compiler(self._connection, self._searcher, self._passing).compile(query)
        compiled.must.extend(literals(query))
        whole = compiled.whole()
        order = tantivy.Order.Asc if oldest_first else tantivy.Order.Desc
        offset = 0
        while True:
            found = self._searcher.search(whole, limit=PAGE, offset=offset, order_by_field="time", order=order)
            blocks = [block for _, _, block in self._placed(found)]
            rows = self._hits(blocks)
            yield from (rows[block] for block in blocks if block in rows)
            offset += PAGE
            if len(found.hits) < PAGE:
                return

    def _by_worth(self, compiled: Compiled, *, limit: int, offset: int, hits: int) -> Answer:
        whole = compiled.whole()
        wanted = max(CANDIDATES, 10 * (limit + offset))
        found = self._searcher.search(whole, limit=wanted, weight_by_field="weight")
        best: dict[int, dict[int, float]] = defaultdict(dict)
        for score, chat, block in self._placed(found):
            best[chat][block] = score
        promising = sorted(best, key=lambda chat: -max(best[chat].values()))[: max(PROMISING, 2 * (limit + offset))]
        worth = self._worth(compiled, promising, best)
        ranked = sorted(promising, key=lambda chat: worth[chat], reverse=True)
        page = ranked[offset : offset + limit]
        return self._page(page, worth, best, _count(found), len(best), whole, hits)

    def _worth(
        self, compiled: Compiled, chats: list[int], best: dict[int, dict[int, float]]
    ) -> dict[int, tuple[int, float]]:
        """Of each chat how many of the words it has, and how good it is: its best passage, and bm25 of the whole."""
        tops = {chat: max(best[chat].values()) for chat in chats}
        if not compiled.words:
            return {chat: (0, top) for chat, top in tops.items()}
        files = self._files_of(chats)
        inside = in_files(list(files))
        sizes = self._count_by_chat(inside, files)
        usual = sum(sizes.values()) / max(1, len(sizes))
        words = dict.fromkeys(chats, 0)
        sums = dict.fromkeys(chats, 0.0)
        for wish in compiled.words:
            rarity = _rarity(wish.frequency, self._searcher.num_docs)
            asked = Engine.boolean_query([(tantivy.Occur.Must, wish.query), (tantivy.Occur.Must, inside)])
            for chat, count in self._count_by_chat(asked, files).items():
                words[chat] += 1
                sums[chat] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * sizes[chat] / usual))
        return {chat: (words[chat], CHAT_WEIGHT * sums[chat] + tops[chat]) for chat in chats}

    def _count_by_chat(self, query: Engine, files: dict[int, int]) -> dict[int, int]:
        """How many passages of these files answer, by chat."""
        asked = {"files": {"terms": {"field": "file", "size": max(1, len(files))}}}
        counts: dict[int, int] = defaultdict(int)
        for bucket in self._searcher.aggregate(query, asked)["files"]["buckets"]:
            if (chat := files.get(int(bucket["key"]))) is not None:
                counts[chat] += int(bucket["doc_count"])
        return counts

    def _files_of(self, chats: list[int]) -> dict[int, int]:
        statement = "select id, chat from files where chat in (select value from json_each(?))"
        return dict(select(self._connection, statement, (msgspec.json.encode(chats).decode(),)))

    def _placed(self, found: Any) -> list[tuple[float, int, int]]:  # noqa: ANN401
        """Score, chat and passage of what was found."""
        addresses = [address for _, address in found.hits]
        if not addresses:
            return []
        files = self._searcher.fast_field_values("file", addresses)
        blocks = self._searcher.fast_field_values("block", addresses)
        chats = self._chats_of({int(file or 0) for file in files})
        return [
            (score, chats[int(file or 0)], int(block or 0))
            for (score, _), file, block in zip(found.hits, files, blocks, strict=True)
            if int(file or 0) in chats
        ]

    def _chats_of(self, files: set[int]) -> dict[int, int]:
        statement = "select id, chat from files where chat is not null and id in (select value from json_each(?))"
        return dict(select(self._connection, statement, (msgspec.json.encode(list(files)).decode(),)))

    def _by_time(self, compiled: Compiled, *, oldest_first: bool, limit: int, offset: int, hits: int) -> Answer:
        whole = compiled.whole()
        order = tantivy.Order.Asc if oldest_first else tantivy.Order.Desc
        wanted = max(CANDIDATES, 20 * (limit + offset))
        while True:
            found = self._searcher.search(whole, limit=wanted, order_by_field="time", order=order)
            best: dict[int, dict[int, float]] = {}
            for rank, (_, chat, block) in enumerate(self._placed(found)):
                best.setdefault(chat, {})[block] = float(-rank)
            if len(best) >= offset + limit or len(found.hits) >= _count(found) or wanted > MOST_BY_TIME:
                break
            wanted *= 4
        page = list(best)[offset : offset + limit]
        worth = {chat: (len(compiled.words), 0.0) for chat in page}
        return self._page(page, worth, best, _count(found), len(best), whole, hits)

    def _page(
        self,
        page: list[int],
        worth: dict[int, tuple[int, float]],
        best: dict[int, dict[int, float]],
        total: int,
        total_chats: int,
        whole: Engine,
        hits: int,
    ) -> Answer:
        chats = self._rows.of(page)
        chosen = {chat: sorted(best[chat], key=lambda block: -best[chat][block])[: hits * 4] for chat in page}
        rows = self._hits([block for blocks in chosen.values() for block in blocks])
        files = self._files_of(page)
        inside = Engine.boolean_query([(tantivy.Occur.Must, whole), (tantivy.Occur.Must, in_files(list(files)))])
        counts = self._count_by_chat(inside, files) if files else {}
        answer = []
        for chat in page:
            if chat in chats:
                shown = _shown([(rows[block], best[chat][block]) for block in chosen[chat] if block in rows])[:hits]
                words, score = worth[chat]
                answer.append(ChatHits(chats[chat], max(counts.get(chat, 0), len(shown)), score, words, shown))
        return Answer(answer, total_chats, total)

    def _hits(self, blocks: list[int]) -> dict[int, Hit]:
        found = select(self._connection, HITS, (msgspec.json.encode(blocks).decode(),))
        return {row[0]: _hit(row) for row in found}


def _hit(row: tuple[Any, ...]) -> Hit:
    (block, chat, path, session, agent, uuid, message, number, role, kind, time, tool, error, abandoned, start, length,
     title) = row  # fmt: skip
    return Hit(
        chat, readable(path or ""), session, agent, uuid, message, block, number, Role(role), kind or "title", time,
        tool, bool(error), bool(abandoned), start or 0, length or 0, 0.0, title,
    )  # fmt: skip


def _shown(found: list[tuple[Hit, float]]) -> list[Hit]:
    """The best passages of a chat: each once, though a resumed session repeats those of the one before it."""
    once: dict[tuple[Any, ...], Hit] = {}
    for row, score in found:
        hit = row._replace(score=score * ABANDONED_WEIGHT if row.is_abandoned and score > 0 else score)
        once.setdefault((hit.uuid or hit.block, hit.number, hit.role), hit)
    return sorted(once.values(), key=lambda hit: -hit.score)


def _rarity(frequency: int, documents: int) -> float:
    """How much a word tells: the less often it is said, the more."""
    return math.log(1 + (max(0, documents - frequency) + 0.5) / (frequency + 0.5))


def _count(found: Any) -> int:  # noqa: ANN401 - the engine's types do not tell of it
    return int(found.count or 0)


HITS: Final = """
select b.id, coalesce(f.chat, b.chat), f.path, f.session, f.agent, r.uuid, r.message, b.number, b.role, r.kind,
  coalesce(r.time, c.started),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.error,
  coalesce(r.abandoned, 0), r.start, r.length, c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id in (select value from json_each(?))
"""
