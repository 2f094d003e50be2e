"""Answer a query: candidates from the text index, grouped by chat and ranked, with the rows they stand in.

Each word brings its own best passages, and a chat counts by the best that it has for each. So a chat in which all
the words were said comes before one in which some were, wherever in it they stand.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import apsw
import msgspec
import tantivy
from tantivy import Query as Engine

from backscroll.conversation import Role
from backscroll.query import Query
from backscroll.store.base import Answer, ChatHits, Hit, Passing
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.compile import Compiled, Compiler, literals
from backscroll.store.local.database import select
from backscroll.store.local.text import TextIndex, in_files

CANDIDATES: Final = 300
"""How many passages each word brings."""
ABANDONED_WEIGHT: Final = 0.7
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
        if sort != "relevance" or not compiled.words:
            return self._by_time(compiled, sort=sort, limit=limit, offset=offset, hits=hits)
        return self._by_worth(compiled, limit=limit, offset=offset, hits=hits)

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
        words = compiled.words
        wanted = max(CANDIDATES, 10 * (limit + offset))
        scores: dict[int, dict[int, float]] = defaultdict(dict)
        """Of each chat the best score for each word."""
        best: dict[int, dict[int, float]] = defaultdict(dict)
        """Of each chat the passages with their scores."""
        found = self._search(whole, wanted)
        total = int(found.count or 0)
        self._gather(found, best)
        if len(words) == 1:
            for chat, passages in best.items():
                scores[chat][0] = max(passages.values())
        else:
            for number, word in enumerate(words):
                bests: dict[int, dict[int, float]] = defaultdict(dict)
                self._gather(self._search(compiled.whole([word]), wanted), bests)
                for chat, passages in bests.items():
                    scores[chat][number] = max(passages.values())
                    for block, score in passages.items():
                        best[chat][block] = max(score, best[chat].get(block, 0.0))
            self._fill_in(compiled, scores)
        ranked = sorted(scores, key=lambda chat: _worth(scores[chat], best[chat]), reverse=True)
        page = ranked[offset : offset + limit]
        worth = {chat: _worth(scores[chat], best[chat])[1] for chat in page}
        return self._page(
            page, worth, {chat: len(scores[chat]) for chat in page}, best, total, len(ranked), whole, hits
        )

    def _fill_in(self, compiled: Compiled, scores: dict[int, dict[int, float]]) -> None:
        """Look whether the chats that came far have the words that did not bring them."""
        promising = sorted(scores, key=lambda chat: -sum(scores[chat].values()))[:60]
        files: dict[int, int] = {}
        for chat in promising:
            for (number,) in select(self._connection, "select id from files where chat = ?", (chat,)):
                files[number] = chat
        for number, word in enumerate(compiled.words):
            missing = [file for file, chat in files.items() if number not in scores[chat]]
            if not missing:
                continue
            narrowed = Compiled([word], [*compiled.must, in_files(missing)], compiled.must_not, [])
            found = self._search(narrowed.whole(), 4 * len(missing))
            for score, chat, _ in self._placed(found):
                scores[chat][number] = max(score, scores[chat].get(number, 0.0))

    def _search(self, query: Engine, limit: int) -> Any:  # noqa: ANN401
        return self._searcher.search(query, limit=limit, weight_by_field="weight")

    def _gather(self, found: Any, best: dict[int, dict[int, float]]) -> None:  # noqa: ANN401
        for score, chat, block in self._placed(found):
            best[chat][block] = max(score, best[chat].get(block, 0.0))

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
        found = select(
            self._connection,
            "select id, chat from files where chat is not null and id in (select value from json_each(?))",
            (msgspec.json.encode(list(files)).decode(),),
        )
        return dict(found)

    def _by_time(self, compiled: Compiled, *, sort: str, limit: int, offset: int, hits: int) -> Answer:
        whole = compiled.whole()
        order = tantivy.Order.Asc if sort == "oldest" else tantivy.Order.Desc
        best: dict[int, dict[int, float]] = {}
        wanted = max(CANDIDATES, 20 * (limit + offset))
        total = 0
        while True:
            found: Any = self._searcher.search(whole, limit=wanted, order_by_field="time", order=order)
            total = int(found.count or 0)
            best = {}
            for rank, (_, chat, block) in enumerate(self._placed(found)):
                best.setdefault(chat, {})[block] = float(-rank)
            if len(best) >= offset + limit or len(found.hits) >= total or wanted > 20_000:
                break
            wanted *= 4
        page = list(best)[offset : offset + limit]
        worth = {chat: max(best[chat].values()) for chat in page}
        words = {chat: len(compiled.words) for chat in page}
        return self._page(page, worth, words, best, total, len(best), whole, hits)

    def _page(
        self, page: list[int], worth: dict[int, float], words: dict[int, int], best: dict[int, dict[int, float]],
        total: int, total_chats: int, whole: Engine, hits: int,
    ) -> Answer:  # fmt: skip
        chats = self._rows.of(page)
        chosen = {chat: sorted(best[chat], key=lambda block: -best[chat][block])[: hits * 4] for chat in page}
        rows = self._hits([block for blocks in chosen.values() for block in blocks])
        counts = self._counts(page, whole) if page else {}
        answer = []
        for chat in page:
            if chat not in chats:
                continue
            seen: set[tuple[Any, ...]] = set()
            shown = []
            for block in chosen[chat]:
                row = rows.get(block)
                if row is None:
                    continue
                score = best[chat][block]
                hit = row._replace(score=score * ABANDONED_WEIGHT if row.is_abandoned and score > 0 else score)
                # A resumed session repeats the messages of the one before it.
                same = (hit.uuid or hit.block, hit.number, hit.role)
                if same not in seen:
                    seen.add(same)
                    shown.append(hit)
            shown.sort(key=lambda hit: -hit.score)
            answer.append(
                ChatHits(chats[chat], max(counts.get(chat, 0), len(shown)), worth[chat], words[chat], shown[:hits])
            )
        return Answer(answer, total_chats, total)

    def _counts(self, page: list[int], whole: Engine) -> dict[int, int]:
        """How many passages each chat of a page has."""
        files: dict[int, int] = dict(
            select(
                self._connection,
                "select id, chat from files where chat in (select value from json_each(?))",
                (msgspec.json.encode(page).decode(),),
            )
        )
        if not files:
            return {}
        narrowed = Engine.boolean_query([(tantivy.Occur.Must, whole), (tantivy.Occur.Must, in_files(list(files)))])
        asked = {"files": {"terms": {"field": "file", "size": len(files)}}}
        counts: dict[int, int] = defaultdict(int)
        for bucket in self._searcher.aggregate(narrowed, asked)["files"]["buckets"]:
            counts[files[int(bucket["key"])]] += int(bucket["doc_count"])
        return counts

    def _hits(self, blocks: list[int]) -> dict[int, Hit]:
        found = select(self._connection, HITS, (msgspec.json.encode(blocks).decode(),))
        return {row[0]: _hit(row) for row in found}


def _hit(row: tuple[Any, ...]) -> Hit:
    (block, chat, path, session, agent, uuid, message, number, role, kind, time, tool, error, abandoned, start, length,
     title) = row  # fmt: skip
    return Hit(
        chat, path or "", session, agent, uuid, message, block, number, Role(role), kind or "title", time, tool,
        bool(error), bool(abandoned), start or 0, length or 0, 0.0, title,
    )  # fmt: skip


def _worth(scores: dict[int, float], passages: dict[int, float]) -> tuple[int, float]:
    """How good a chat is: how many of the words it has, then how well."""
    together = max(passages.values(), default=0.0)
    return len(scores), sum(scores.values()) + together


HITS: Final = """
select b.id, coalesce(f.chat, b.chat), f.path, f.session, f.agent, r.uuid, r.message, b.number, b.role, r.kind,
  coalesce(r.time, c.last_active),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.error,
  coalesce(r.abandoned, 0), r.start, r.length, c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id in (select value from json_each(?))
"""
