"""Answer a query: candidates from the text index, grouped by chat and ranked, with their rows.

The best passages determine the candidate chats. These are then ranked as a whole: a chat that contains all the words,
anywhere, comes before one that contains only some.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import apsw
import tantivy
from tantivy import Query as Engine

from backscroll.conversation.passages import Role
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.compile import CompiledQuery, Compiler, literals
from backscroll.store.local.database import array, select
from backscroll.store.local.text import in_files
from backscroll.store.local.visible import VisibleRows
from backscroll.store.reader import ChatHits, Hit, SearchPage

CANDIDATES: Final = 400
"""How many passages are considered for candidate chats."""
PROMISING: Final = 60
"""How many chats are ranked as a whole."""
# Chosen with bench/recall.py, on its tuning half.
CHAT_WEIGHT: Final = 3.0
"""The weight of the whole chat relative to its best passage."""
K1: Final = 1.2
B: Final = 0.75
ABANDONED_WEIGHT: Final = 0.7
MOST_BY_TIME: Final = 20_000
MOST_FILES: Final = 60_000
"""How many files are counted; the limit of the engine."""
PAGE: Final = 500


class ChatSizes(NamedTuple):
    """How a library is divided into chats; computed once for many queries."""

    chat_of: Mapping[int, int]
    """The chat that each file is part of."""
    sizes: Mapping[int, int]
    """How many passages each chat has."""

    @classmethod
    def of(cls, connection: apsw.Connection, searcher: tantivy.Searcher) -> "ChatSizes":
        """The current state."""
        chat_of = dict(select(connection, "select id, chat from files where chat is not null"))
        return cls(chat_of, count_by_chat(searcher, Engine.all_query(), chat_of))


def count_by_chat(
    searcher: tantivy.Searcher, query: Engine, chat_of: Mapping[int, int], allowed: set[int] | None = None
) -> dict[int, int]:
    """The number of matching passages by chat, only in the allowed files."""
    asked = {"files": {"terms": {"field": "file", "size": MOST_FILES}}}
    counts: dict[int, int] = defaultdict(int)
    for bucket in searcher.aggregate(query, asked)["files"]["buckets"]:
        file = int(bucket["key"])
        if file in chat_of and (allowed is None or file in allowed):
            counts[chat_of[file]] += int(bucket["doc_count"])
    return counts


class Search:
    """One query to a store."""

    def __init__(self, rows: VisibleRows, searcher: tantivy.Searcher, shape: "ChatSizes") -> None:
        self._visible = rows
        self._searcher = searcher
        self._chat_of = shape.chat_of
        self._sizes = shape.sizes
        self._rows = ChatRows(rows)

    def run(self, query: Query, *, sort: str, limit: int, offset: int, hits: int) -> SearchPage:
        """One page of results."""
        compiled = Compiler(self._visible, self._searcher).compile(query)
        if sort == "relevance" and compiled.is_ranked:
            return self._by_worth(compiled, limit=limit, offset=offset, hits=hits)
        return self._by_time(compiled, oldest_first=sort == "oldest", limit=limit, offset=offset, hits=hits)

    def passages(self, query: Query, *, oldest_first: bool) -> Iterator[Hit]:
        """Every passage that may match a query, by time."""
        compiled = Compiler(self._visible, self._searcher).compile(query)
        compiled.must.extend(literals(query))
        whole = compiled.whole()
        order = tantivy.Order.Asc if oldest_first else tantivy.Order.Desc
        offset = 0
        while True:
            found = self._searcher.search(whole, limit=PAGE, offset=offset, order_by_field="time", order=order)
            blocks = [block for _, _, block in self._placed(found, compiled)]
            rows = self._hits(blocks)
            yield from (rows[block] for block in blocks if block in rows)
            offset += PAGE
            if len(found.hits) < PAGE:
                return

    def _by_worth(self, compiled: CompiledQuery, *, limit: int, offset: int, hits: int) -> SearchPage:
        whole = compiled.whole()
        wanted = max(CANDIDATES, 10 * (limit + offset))
        if compiled.files is not None:
            wanted *= 2  # some of them are filtered out
        found = self._searcher.search(whole, limit=wanted, count=False, weight_by_field="weight")
        best: dict[int, dict[int, float]] = defaultdict(dict)
        for score, chat, block in self._placed(found, compiled):
            best[chat][block] = score
        counts = self._counts(compiled, whole, best, is_all=len(found.hits) < wanted)
        promising = sorted(best, key=lambda chat: -max(best[chat].values()))[: max(PROMISING, 2 * (limit + offset))]
        worth = self._worth(compiled, promising, best, counts)
        ranked = sorted(promising, key=lambda chat: worth[chat], reverse=True)
        return self._page(ranked[offset : offset + limit], worth, best, hits, counts)

    def _counts(
        self, compiled: CompiledQuery, whole: Engine, best: dict[int, dict[int, float]], *, is_all: bool
    ) -> dict[int, int]:
        """The number of passages of each chat; `is_all` if every match was found."""
        if is_all:
            return {chat: len(blocks) for chat, blocks in best.items()}
        return count_by_chat(self._searcher, whole, self._chat_of, compiled.files)

    def _worth(
        self, compiled: CompiledQuery, chats: list[int], best: dict[int, dict[int, float]], counts: dict[int, int]
    ) -> dict[int, tuple[int, float]]:
        """For each chat, how many of the words it has, and its score: its best passage, and bm25 of the whole."""
        tops = {chat: max(best[chat].values()) for chat in chats}
        if not compiled.words:
            return {chat: (0, top) for chat, top in tops.items()}
        inside = in_files(self._files_of(chats))
        usual = sum(self._sizes.values()) / max(1, len(self._sizes))
        words = dict.fromkeys(chats, 0)
        sums = dict.fromkeys(chats, 0.0)
        for wish in compiled.words:
            rarity = _rarity(wish.frequency, self._searcher.num_docs)
            asked = Engine.boolean_query([(tantivy.Occur.Must, wish.query), (tantivy.Occur.Must, inside)])
            alone = len(compiled.words) == 1
            said = counts if alone else count_by_chat(self._searcher, asked, self._chat_of)
            for chat in words.keys() & said.keys():
                count = said[chat]
                words[chat] += 1
                length = self._sizes.get(chat, 1) / usual
                sums[chat] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
        return {chat: (words[chat], CHAT_WEIGHT * sums[chat] + tops[chat]) for chat in chats}

    def _files_of(self, chats: list[int]) -> list[int]:
        statement = "select id from files where chat in (select value from json_each(?))"
        return [number for (number,) in select(self._visible, statement, (array(chats),))]

    def _placed(self, found: Any, compiled: CompiledQuery) -> list[tuple[float, int, int]]:  # noqa: ANN401
        """Score, chat and passage of a match."""
        addresses = [address for _, address in found.hits]
        if not addresses:
            return []
        files = self._searcher.fast_field_values("file", addresses)
        blocks = self._searcher.fast_field_values("block", addresses)
        return [
            (score, self._chat_of[file], int(block or 0))
            for (score, _), file, block in zip(found.hits, files, blocks, strict=True)
            if isinstance(file, int) and file in self._chat_of and (compiled.files is None or file in compiled.files)
        ]

    def _by_time(
        self, compiled: CompiledQuery, *, oldest_first: bool, limit: int, offset: int, hits: int
    ) -> SearchPage:
        whole = compiled.whole()
        order = tantivy.Order.Asc if oldest_first else tantivy.Order.Desc
        wanted = max(CANDIDATES, 20 * (limit + offset))
        while True:
            found = self._searcher.search(whole, limit=wanted, count=False, order_by_field="time", order=order)
            best: dict[int, dict[int, float]] = {}
            for rank, (_, chat, block) in enumerate(self._placed(found, compiled)):
                best.setdefault(chat, {})[block] = float(-rank)
            if len(best) >= offset + limit or len(found.hits) < wanted or wanted > MOST_BY_TIME:
                break
            wanted *= 4
        page = list(best)[offset : offset + limit]
        counts = self._counts(compiled, whole, best, is_all=len(found.hits) < wanted)
        return self._page(page, {chat: (len(compiled.words), 0.0) for chat in page}, best, hits, counts)

    def _page(
        self,
        page: list[int],
        worth: dict[int, tuple[int, float]],
        best: dict[int, dict[int, float]],
        hits: int,
        counts: dict[int, int],
    ) -> SearchPage:
        chats = self._rows.of(page)
        shown = self._shown({chat: best[chat] for chat in page}, hits)
        answer = []
        for chat in page:
            if chat in chats:
                words, score = worth[chat]
                answer.append(ChatHits(chats[chat], counts[chat], score, words, shown[chat]))
        return SearchPage(answer, len(counts), sum(counts.values()))

    def _shown(self, best: dict[int, dict[int, float]], hits: int) -> dict[int, list[Hit]]:
        """The best passages of each chat, each once, although resumed sessions repeat them."""
        once: dict[int, dict[tuple[Any, ...], Hit]] = {chat: {} for chat in best}
        waiting = {chat: sorted(blocks, key=lambda block: -blocks[block]) for chat, blocks in best.items()}
        while waiting:
            taken = {chat: blocks[: hits * 4] for chat, blocks in waiting.items()}
            rows = self._hits([block for blocks in taken.values() for block in blocks])
            for chat, blocks in taken.items():
                for hit in (rows[block] for block in blocks if block in rows):
                    score = best[chat][hit.block]
                    weighed = score * ABANDONED_WEIGHT if hit.is_abandoned and score > 0 else score
                    key = (hit.uuid or hit.block, hit.number, hit.role)
                    once[chat].setdefault(key, hit._replace(score=weighed))
            waiting = {
                chat: blocks[hits * 4 :]
                for chat, blocks in waiting.items()
                if len(blocks) > hits * 4 and len(once[chat]) < hits
            }
        return {chat: sorted(found.values(), key=lambda hit: -hit.score)[:hits] for chat, found in once.items()}

    def _hits(self, blocks: list[int]) -> dict[int, Hit]:
        found = select(self._visible, HITS, (array(blocks),))
        return {row[0]: _hit(row) for row in found}


def _hit(row: tuple[Any, ...]) -> Hit:
    (block, chat, source, path, machine, session, agent, uuid, message, number, role, kind, time, tool, error,
     abandoned, start, length, title) = row  # fmt: skip
    return Hit(
        chat, readable(source or ""), readable(path or ""), readable(machine or ""), session, agent, uuid, message,
        block, number, Role(role), kind or "title", time, tool, bool(error), bool(abandoned), start or 0, length or 0,
        0.0, title,
    )  # fmt: skip


def _rarity(frequency: int, documents: int) -> float:
    """The weight of a word: the rarer, the higher."""
    return math.log(1 + (max(0, documents - frequency) + 0.5) / (frequency + 0.5))


HITS: Final = """
select b.id, coalesce(f.chat, b.chat), f.source, f.path, f.machine, f.session, f.agent,
  coalesce(r.original, r.uuid), r.message, b.number, b.role, r.kind,
  coalesce(r.time, c.started),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.state = 'error',
  coalesce(r.abandoned, 0), r.start, r.length, c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id in (select value from json_each(?))
"""
