"""Answer a query: rank all matching chats, and read the rows of one page of them.

Which chats match, and how they are ranked, is decided over all matches: a limit only limits what is shown.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from backscroll.conversation.passages import Role
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.reader import ChatHits, Hit, PagePosition, SearchPage, chat_digest
from backscroll.store.search.compile import CompiledQuery, Compiler, literals
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.nodes import DATED, InFiles, IsUpTo, Node
from backscroll.store.search.ranking import Ranking, by_matches
from backscroll.store.sql.chats import TITLE_TEXT, ChatRows
from backscroll.store.sql.statements import ScopedRows, array, select

ABANDONED_WEIGHT: Final = 0.7
PAGE: Final = 500
"""How many passages are read at once."""
PASSAGES_BY_TIME: Final = (500, 2_000, 8_000)
"""How many passages are read for an order by time, step by step; beyond, the engine finds the time of every chat."""
FEW_HITS: Final = 4
"""Up to this many passages per chat, those among the candidates are enough, if there is one."""
SPARE: Final = 4
"""How many times more passages are fetched than are shown: resumed sessions repeat them."""


class Search:
    """One query to a store."""

    def __init__(self, rows: ScopedRows, engine: WordEngine) -> None:
        self._visible = rows
        self._engine = engine
        self._rows = ChatRows(rows)

    def run(
        self,
        query: Query,
        *,
        sort: str,
        limit: int,
        offset: int,
        hits: int,
        after: PagePosition | None = None,
        project: str = "",
    ) -> SearchPage:
        """One page of results: after the first `offset` chats, or after a position."""
        compiled = Compiler(self._visible, self._engine).compile(query)
        newest = self._engine.newest
        if after is not None and after.newest < newest:
            newest = after.newest
            compiled.must.append(IsUpTo(newest))
        order = sort if sort != "relevance" or compiled.terms else "newest"
        if order == "relevance":
            matches, scores, known = self._ranked(compiled, project)
        else:
            matches, scores, known = self._matching(compiled), {}, {}
        seen = self._seen(matches, after)
        wanted = (len(seen) if after is not None else offset) + limit
        if order != "relevance":
            known = self._by_time(compiled, matches, order, wanted)
        ordered = list(scores if order == "relevance" else known)
        if order == "relevance" and len(ordered) < wanted:
            ordered += by_matches(self._engine, matches, scores)
        left = [chat for chat in ordered if chat not in seen][0 if after is not None else offset :]
        page = left[:limit]
        rows = self._rows.of(page)
        shown = self._shown(compiled, matches, {chat: known.get(chat, {}) for chat in page}, hits, order)
        return SearchPage(
            [ChatHits(rows[chat], matches[chat], scores.get(chat, 0.0), shown[chat]) for chat in page if chat in rows],
            len(matches),
            sum(matches.values()),
            newest,
            max(0, len(matches) - wanted),
            frozenset(map(chat_digest, self._names(ordered[:offset]).values())) if after is None else frozenset(),
            compiled.corrections,
        )

    def passages(self, query: Query, *, oldest_first: bool) -> Iterator[Hit]:
        """Every passage that may match a query, by time."""
        compiled = Compiler(self._visible, self._engine).compile(query)
        matches = self._matching(compiled)
        compiled.must.extend(literals(query))
        parts = [_dated(compiled), _undated(compiled)] if oldest_first else [compiled]
        for part in parts:
            offset, found = 0, None
            while found is None or len(found) == PAGE:
                found = self._engine.by_time(part.whole(), PAGE, offset, part.files, oldest=oldest_first)
                blocks = [match.block for match in found if match.chat in matches]
                rows = self._hits(blocks)
                yield from (rows[block] for block in blocks if block in rows)
                offset += PAGE

    def _ranked(
        self, compiled: CompiledQuery, project: str
    ) -> tuple[Mapping[int, int], Mapping[int, float], Mapping[int, Mapping[int, float]]]:
        """The matching chats; the best of them in order, with their scores; and their best passages."""
        ranking = Ranking(self._engine, compiled)
        candidates = ranking.candidates()
        is_known = candidates.are_all and not (
            len(compiled.terms) > 1 and any(term.is_required for term in compiled.terms)
        )
        known = {chat: len(blocks) for chat, blocks in candidates.best.items()}
        matches = known if is_known else self._matching(compiled)
        return matches, ranking.rank(matches, candidates, self._chats_at(project)), candidates.best

    def _chats_at(self, project: str) -> set[int]:
        """The chats of a project, or of a folder in it."""
        if not project:
            return set()
        inside = project.rstrip("/\\") + "/"
        found = select(self._visible, AT_PROJECT, (project, inside, inside))
        return {chat for (chat,) in found}

    def _matching(self, compiled: CompiledQuery) -> dict[int, int]:
        return matching_chats(self._engine, compiled)

    def _by_time(
        self, compiled: CompiledQuery, matches: Mapping[int, int], order: str, wanted: int
    ) -> dict[int, dict[int, float]]:
        """The chats by their newest match, or by their oldest: at least so many, if there are as many. Each with its
        first passages, as far as they are known. Chats whose matches have no time come last.
        """
        is_oldest = order == "oldest"
        whole = (_dated(compiled) if is_oldest else compiled).whole()
        sign = 1 if is_oldest else -1
        for most in PASSAGES_BY_TIME:
            found = self._engine.by_time(whole, most, 0, compiled.files, oldest=is_oldest)
            is_all = len(found) < most
            last = found[-1].score if found else 0
            best: dict[int, dict[int, float]] = {}
            for time, chat, block in found:
                # A match that was cut off may have the time of the last one.
                if chat in matches and (is_all or time != last):
                    best.setdefault(chat, {})[block] = -sign * time
            if is_all or len(best) >= wanted:
                times = {chat: -max(blocks.values()) for chat, blocks in best.items()}
                return {chat: best.get(chat, {}) for chat in self._in_order(times, matches if is_all else times)}
        times = self._engine.times_by_chat(whole, compiled.files, oldest=is_oldest)
        known = {chat: sign * time for chat, time in times.items() if chat in matches}
        return {chat: {} for chat in self._in_order(known, matches)}

    def _in_order(self, times: Mapping[int, float], chats: Collection[int]) -> list[int]:
        """The chats, lower times first; the last active one first among equals."""
        ages = self._engine.ages(chats)
        return sorted(chats, key=lambda chat: (times.get(chat, math.inf), ages[chat]))

    def _seen(self, matches: Mapping[int, int], after: PagePosition | None) -> set[int]:
        """The chats of the pages before."""
        if after is None:
            return set()
        return {chat for chat, name in self._names(matches).items() if chat_digest(name) in after.seen}

    def _names(self, chats: Collection[int]) -> dict[int, str]:
        return dict(select(self._visible, NAMES, (array(chats),))) if chats else {}

    def _files_of(self, chats: list[int]) -> list[int]:
        statement = "select id from files where chat in (select value from json_each(?))"
        return [number for (number,) in select(self._visible, statement, (array(chats),))]

    def _shown(
        self,
        compiled: CompiledQuery,
        matches: Mapping[int, int],
        best: Mapping[int, Mapping[int, float]],
        hits: int,
        order: str,
    ) -> dict[int, list[Hit]]:
        """The best passages of each chat on the page, or its newest or oldest: each once, although resumed sessions
        repeat them. `best` are the chats with those that are known.
        """
        known = {chat: dict(blocks) for chat, blocks in best.items()}
        shown: dict[int, list[Hit]] = {}
        lacking, most, alone = list(best), hits + 1, 0
        while lacking:
            first = {chat: _first(known[chat], most) for chat in lacking}
            rows = self._hits([block for blocks in first.values() for block in blocks])
            shown |= {chat: _once(first[chat], rows, is_ranked=order == "relevance")[:hits] for chat in lacking}
            least = hits if hits > FEW_HITS else 1
            lacking = [
                chat
                for chat in lacking
                if (len(shown[chat]) < hits and len(first[chat]) < len(known[chat]))
                or (len(shown[chat]) < least and max(alone, len(first[chat])) < matches[chat])
            ]
            if most == hits + 1:  # first all of them at once; a large chat may leave no room for the others
                most = hits * SPARE + 1
                self._find(compiled, known, lacking, most * len(lacking), order)
                continue
            alone = most
            for chat in lacking:
                self._find(compiled, known, [chat], alone, order)
            most *= SPARE
        return shown

    def _find(
        self, compiled: CompiledQuery, known: dict[int, dict[int, float]], chats: list[int], most: int, order: str
    ) -> None:
        """Add the best passages of these chats, or the newest or oldest."""
        if not chats:
            return
        inside = compiled._replace(must=[*compiled.must, InFiles(tuple(self._files_of(chats)))])
        if order == "relevance":
            found = self._engine.best(inside.whole(), most, compiled.files)
        elif order == "newest":
            found = self._engine.by_time(inside.whole(), most, 0, compiled.files, oldest=False)
        else:
            found = self._engine.by_time(_dated(inside).whole(), most, 0, compiled.files, oldest=True)
            undated = self._engine.by_time(_undated(inside).whole(), most, 0, compiled.files, oldest=True)
            found += [match._replace(score=math.inf) for match in undated]
        sign = -1 if order == "oldest" else 1
        for score, chat, block in found:
            if chat in known:
                known[chat].setdefault(block, sign * score)

    def _hits(self, blocks: list[int]) -> dict[int, Hit]:
        found = select(self._visible, HITS, (array(blocks),)) if blocks else []
        return {row[0]: _hit(row) for row in found}


def matching_chats(engine: WordEngine, compiled: CompiledQuery) -> dict[int, int]:
    """The chats that match, with their number of matches: they have every term that is required."""

    def counted(query: Node) -> dict[int, int]:
        return engine.count_by_chat(query, compiled.files)

    matches = counted(compiled.whole())
    for term in compiled.terms if compiled.has_demands else ():
        if term.is_required:
            found = counted(compiled.among([term.query]))
            matches = {chat: count for chat, count in matches.items() if chat in found}
    return matches


def _dated(compiled: CompiledQuery) -> CompiledQuery:
    return compiled._replace(must=[*compiled.must, DATED])


def _undated(compiled: CompiledQuery) -> CompiledQuery:
    return compiled._replace(must_not=[*compiled.must_not, DATED])


def _first(blocks: Mapping[int, float], most: int) -> dict[int, float]:
    """The best passages, in order."""
    return {block: blocks[block] for block in sorted(blocks, key=lambda block: (-blocks[block], block))[:most]}


def _once(blocks: Mapping[int, float], rows: Mapping[int, Hit], *, is_ranked: bool) -> list[Hit]:
    """The passages without copies, the best first; what was taken back counts less."""
    once: dict[tuple[Any, ...], Hit] = {}
    for hit in (rows[block] for block in blocks if block in rows):
        score = blocks[hit.block] if is_ranked else 0.0
        weighed = score * ABANDONED_WEIGHT if hit.is_abandoned else score
        once.setdefault((hit.uuid or hit.block, hit.number, hit.role), hit._replace(score=weighed))
    return sorted(once.values(), key=lambda hit: -hit.score)


def _hit(row: tuple[Any, ...]) -> Hit:
    (block, chat, source, path, machine, session, agent, uuid, message, number, role, kind, time, tool, error,
     abandoned, start, length, title) = row  # fmt: skip
    return Hit(
        chat, readable(source or ""), readable(path or ""), readable(machine or ""), session, agent, uuid, message,
        block, number, Role(role), kind or "title", time, tool, bool(error), bool(abandoned), start or 0, length or 0,
        0.0, title,
    )  # fmt: skip


HITS: Final = f"""
select b.id, coalesce(f.chat, b.chat), f.source, f.path, f.machine, f.session, f.agent,
  coalesce(r.original, r.uuid), r.message, b.number, b.role, r.kind,
  coalesce(r.time, c.started),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.state = 'error',
  coalesce(r.abandoned, false), r.start, r.length, {TITLE_TEXT}
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id in (select value from json_each(?))
"""  # noqa: S608 - no values in it
AT_PROJECT: Final = "select id from chats where project = ? or substr(project, 1, length(?)) = ?"
NAMES: Final = "select id, name from chats where id in (select value from json_each(?))"
