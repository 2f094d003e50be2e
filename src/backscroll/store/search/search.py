"""Answer a query: rank all matching chats, and read the rows of one page of them.

Matching and ranking cover all matches: a limit only limits what is shown.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from backscroll.conversation.passages import Role
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.reader import ChatHits, Hit, PagePosition, SearchPage, StoredChat, chat_digest
from backscroll.store.search.compile import CompiledQuery, Compiler, literals
from backscroll.store.search.engine import Match, WordEngine
from backscroll.store.search.nodes import DATED, EachOf, InFiles, IsOneOf, IsUpTo, Node
from backscroll.store.search.ranking import Ranking, by_matches
from backscroll.store.search.ties import without_ties
from backscroll.store.search.worths import DIGITS
from backscroll.store.sql.chats import TITLE_TEXT, ChatRows
from backscroll.store.sql.statements import ScopedRows, array, select

ABANDONED_WEIGHT: Final = 0.7
PAGE: Final = 500
"""The number of passages read at once."""
PASSAGES_BY_TIME: Final = (500, 2_000, 8_000)
"""The steps of passages read for an order by time; beyond them, the engine finds the time of every chat."""
FEW_HITS: Final = 4
"""Up to this many passages per chat, the candidates are enough, if there is one."""
SPARE: Final = 4
"""The factor of additional passages to fetch: resumed sessions repeat them."""


class Search:
    """A query on one state of a store."""

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
        """Return a page of results: after the first `offset` chats, or after a position."""
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
        repeating = {chat for chat, row in rows.items() if _may_repeat(row)}
        shown_hits = self._shown(
            compiled, matches, {chat: known.get(chat, {}) for chat in page}, repeating, hits, order
        )
        return SearchPage(
            [
                ChatHits(rows[chat], matches[chat], scores.get(chat, 0.0), shown_hits[chat])
                for chat in page
                if chat in rows
            ],
            len(matches),
            sum(matches.values()),
            newest,
            max(0, len(matches) - wanted),
            frozenset(map(chat_digest, self._names(ordered[:offset]).values())) if after is None else frozenset(),
            compiled.corrections,
        )

    def passages(self, query: Query, *, oldest_first: bool) -> Iterator[Hit]:
        """Yield every passage that may match a query, by time."""
        compiled = Compiler(self._visible, self._engine).compile(query)
        matches = self._matching(compiled)
        compiled.must.extend(literals(query))
        parts = [_dated(compiled), _undated(compiled)] if oldest_first else [compiled]
        for part in parts:
            passages = self._pages_by_time(part, oldest=oldest_first)
            for _, some in groupby(passages, key=lambda match: match.score):
                rows = self._hits([match.block for match in some if match.chat in matches])
                yield from sorted(rows.values(), key=_place)

    def _pages_by_time(self, part: CompiledQuery, *, oldest: bool) -> Iterator[Match]:
        offset, passages = 0, None
        while passages is None or len(passages) == PAGE:
            passages = self._engine.by_time(part.whole(), PAGE, offset, part.files, oldest=oldest)
            yield from passages
            offset += PAGE

    def _ranked(
        self, compiled: CompiledQuery, project: str
    ) -> tuple[Mapping[int, int], Mapping[int, float], Mapping[int, Mapping[int, Match]]]:
        """Return the matching chats; the best of them in order, with their scores; and their best passages."""
        ranking = Ranking(self._engine, compiled)
        candidates = ranking.candidates()
        is_known = candidates.are_all and not (
            len(compiled.terms) > 1 and any(term.is_required for term in compiled.terms)
        )
        known = {chat: len(blocks) for chat, blocks in candidates.best.items()}
        matches = known if is_known else self._matching(compiled)
        return matches, ranking.rank(matches, candidates, self._chats_at(project)), candidates.best

    def _chats_at(self, project: str) -> set[int]:
        """Return the chats of a project, or of a folder in it."""
        if not project:
            return set()
        inside = project.rstrip("/\\") + "/"
        rows = select(self._visible, AT_PROJECT, (project, inside, inside))
        return {chat for (chat,) in rows}

    def _matching(self, compiled: CompiledQuery) -> dict[int, int]:
        return matching_chats(self._engine, compiled)

    def _by_time(
        self, compiled: CompiledQuery, matches: Mapping[int, int], order: str, wanted: int
    ) -> dict[int, dict[int, Match]]:
        """Return the chats by their newest match, or by their oldest: at least `wanted`, if so many match. Each comes
        with its first passages, as far as they are known. Chats whose matches have no time come last.
        """
        is_oldest = order == "oldest"
        whole = (_dated(compiled) if is_oldest else compiled).whole()
        sign = 1 if is_oldest else -1
        for most in PASSAGES_BY_TIME:
            passages = self._engine.by_time(whole, most, 0, compiled.files, oldest=is_oldest)
            is_all = len(passages) < most
            last = passages[-1].score if passages else 0
            best: dict[int, dict[int, Match]] = {}
            for match in passages:
                # A match that was cut off may have the time of the last one.
                if match.chat in matches and (is_all or match.score != last):
                    best.setdefault(match.chat, {})[match.block] = match._replace(score=-sign * match.score)
            if is_all or len(best) >= wanted:
                times = {chat: -max(match.score for match in blocks.values()) for chat, blocks in best.items()}
                return {chat: best.get(chat, {}) for chat in self._in_order(times, matches if is_all else times)}
        times = self._engine.times_by_chat(whole, compiled.files, oldest=is_oldest)
        known = {chat: sign * time for chat, time in times.items() if chat in matches}
        return {chat: {} for chat in self._in_order(known, matches)}

    def _in_order(self, times: Mapping[int, float], chats: Collection[int]) -> list[int]:
        """Return the chats, lower times first; of equal ones, the last active first."""
        ages = self._engine.ages(chats)
        return sorted(chats, key=lambda chat: (times.get(chat, math.inf), ages[chat]))

    def _seen(self, matches: Mapping[int, int], after: PagePosition | None) -> set[int]:
        """Return the chats of the pages before."""
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
        best: Mapping[int, Mapping[int, Match]],
        repeating: Collection[int],
        hits: int,
        order: str,
    ) -> dict[int, list[Hit]]:
        """Return the best passages of each chat on the page, or its newest or oldest: each once, although resumed
        sessions repeat them. `best` are the chats with their known passages, `repeating` those that may have copies.
        """
        shown_hits = self._found_once(compiled, matches, best, hits, order)
        preferred = self._preferred_copies(compiled, [hit for chat in repeating for hit in shown_hits.get(chat, ())])
        return {chat: [preferred.get(hit.block, hit) for hit in chat_hits] for chat, chat_hits in shown_hits.items()}

    def _preferred_copies(self, compiled: CompiledQuery, hits: list[Hit]) -> dict[int, Hit]:
        """Return, by passage with copies, the copy to show: copies need not be among the best passages, and the choice
        does not depend on those that are.
        """
        named = [hit.uuid for hit in hits if hit.uuid]
        chats = array({hit.chat for hit in hits})
        uuids = array(named)
        repeated = [uuid for (uuid,) in select(self._visible, REPEATED, (uuids, uuids, chats))] if named else []
        if not repeated:
            return {}
        uuids = array(repeated)
        all_copies = [_hit(row) for row in select(self._visible, COPIES, (uuids, uuids, chats))]
        copies: dict[tuple[Any, ...], list[Hit]] = {}
        for hit in all_copies:
            copies.setdefault((hit.chat, *_key(hit)), []).append(hit)
        several = {hit.block: copies.get((hit.chat, *_key(hit)), []) for hit in hits}
        several = {block: some for block, some in several.items() if len(some) > 1}
        if not several:
            return {}
        others = {copy.block for some in several.values() for copy in some} - several.keys()
        query = EachOf((IsOneOf(tuple(sorted(others))), compiled.whole()))
        matching = {match.block for match in self._engine.by_time(query, len(others), 0, compiled.files, oldest=False)}
        preferred = {}
        for hit in hits:
            known = [copy for copy in several.get(hit.block, ()) if copy.block == hit.block or copy.block in matching]
            if known:
                preferred[hit.block] = min(map(self._owned, known), key=_preference)._replace(score=hit.score)
        return preferred

    def _owned(self, hit: Hit) -> Hit:
        """Mark a passage that is from another machine than the reader's."""
        own = self._visible.scope.own_machines
        return hit._replace(is_elsewhere=True) if own and hit.machine and hit.machine not in own else hit

    def _found_once(
        self,
        compiled: CompiledQuery,
        matches: Mapping[int, int],
        best: Mapping[int, Mapping[int, Match]],
        hits: int,
        order: str,
    ) -> dict[int, list[Hit]]:
        known = {chat: dict(blocks) for chat, blocks in best.items()}
        shown_hits: dict[int, list[Hit]] = {}
        lacking, most, alone = list(best), hits + 1, 0
        while lacking:
            first = {chat: _first(known[chat], most) for chat in lacking}
            rows = self._hits([match.block for chat_matches in first.values() for match in chat_matches])
            rows = {block: self._owned(hit) for block, hit in rows.items()}
            shown_hits |= {chat: _once(first[chat], rows, is_ranked=order == "relevance")[:hits] for chat in lacking}
            least = hits if hits > FEW_HITS else 1
            lacking = [
                chat
                for chat in lacking
                if (len(shown_hits[chat]) < hits and len(first[chat]) < len(known[chat]))
                or (len(shown_hits[chat]) < least and max(alone, len(first[chat])) < matches[chat])
            ]
            if most == hits + 1:  # at first all chats at once; a large chat may leave no room for the others
                most = hits * SPARE + 1
                self._find(compiled, known, lacking, most * len(lacking), order)
                continue
            alone = most
            for chat in lacking:
                self._find(compiled, known, [chat], alone, order)
            most *= SPARE
        return shown_hits

    def _find(
        self, compiled: CompiledQuery, known: dict[int, dict[int, Match]], chats: list[int], most: int, order: str
    ) -> None:
        """Add the best passages of these chats, or the newest or oldest."""
        if not chats:
            return
        inside = compiled._replace(must=[*compiled.must, InFiles(tuple(self._files_of(chats)))])
        engine, files = self._engine, compiled.files
        if order == "relevance":
            passages, _ = without_ties(lambda some: engine.best(inside.whole(), some, files), most)
        elif order == "newest":
            passages, _ = without_ties(lambda some: engine.by_time(inside.whole(), some, 0, files, oldest=False), most)
        else:
            whole = _dated(inside).whole()
            passages, _ = without_ties(lambda some: engine.by_time(whole, some, 0, files, oldest=True), most)
            if len(passages) < most:
                rest = _undated(inside).whole()  # all equal: either all or none
                undated, _ = without_ties(lambda some: engine.by_time(rest, some, 0, files, oldest=True), most)
                passages = [*passages, *(match._replace(score=math.inf) for match in undated)]
        sign = -1 if order == "oldest" else 1
        for match in passages:
            if match.chat in known:
                known[match.chat].setdefault(match.block, match._replace(score=sign * match.score))

    def _hits(self, blocks: list[int]) -> dict[int, Hit]:
        rows = select(self._visible, HITS, (array(blocks),)) if blocks else []
        return {row[0]: _hit(row) for row in rows}


def matching_chats(engine: WordEngine, compiled: CompiledQuery) -> dict[int, int]:
    """Return the chats that match, with their number of matches; each has every required term."""

    def counted(query: Node) -> dict[int, int]:
        return engine.count_by_chat(query, compiled.files)

    matches = counted(compiled.whole())
    for term in compiled.terms if compiled.has_demands else ():
        if term.is_required:
            with_term = counted(compiled.among([term.query]))
            matches = {chat: count for chat, count in matches.items() if chat in with_term}
    return matches


def _may_repeat(chat: StoredChat) -> bool:
    """Whether passages of a chat may be in several files."""
    overview = chat.overview
    return bool(overview.copies or overview.agents or len(overview.sessions) > 1 or len(chat.machines) > 1)


def _dated(compiled: CompiledQuery) -> CompiledQuery:
    return compiled._replace(must=[*compiled.must, DATED])


def _undated(compiled: CompiledQuery) -> CompiledQuery:
    return compiled._replace(must_not=[*compiled.must_not, DATED])


def _first(matches: Mapping[int, Match], most: int) -> list[Match]:
    """Return the best passages, in order, and all that are equal to the last of these."""
    ordered = sorted(matches.values(), reverse=True)
    if most >= len(ordered):
        return ordered
    return ordered[: bisect_right(ordered, -ordered[most - 1].score, key=lambda match: -match.score)]


def _once(matches: Sequence[Match], rows: Mapping[int, Hit], *, is_ranked: bool) -> list[Hit]:
    """Return the passages without copies, best first, and the newest of equals; abandoned ones count less."""
    once: dict[tuple[Any, ...], Hit] = {}
    scores: dict[tuple[Any, ...], float] = {}
    for match in matches:
        if (hit := rows.get(match.block)) is None:
            continue
        score = match.score * ABANDONED_WEIGHT if is_ranked and hit.is_abandoned else match.score
        key = _key(hit)
        if key not in once or _preference(hit) < _preference(once[key]):
            once[key] = hit
        scores[key] = max(scores.get(key, score), score)
    ordered = sorted(once, key=lambda key: (-scores[key], -(once[key].time or 0), _place(once[key])))
    return [once[key]._replace(score=round(scores[key], DIGITS) if is_ranked else 0.0) for key in ordered]


def _key(hit: Hit) -> tuple[Any, ...]:
    """Return the key that copies of a passage share."""
    return hit.uuid or hit.block, hit.number, hit.role


def _preference(hit: Hit) -> tuple[Any, ...]:
    """Return the order of copies; the lowest is shown: of this machine, else the earliest, else the first by file."""
    return hit.is_elsewhere, hit.time is None, hit.time or 0, *_place(hit)


def _place(hit: Hit) -> tuple[Any, ...]:
    """Return the place of a passage, as values that are the same in every library."""
    return hit.source, hit.start, hit.number, hit.uuid or "", hit.title or ""


def _hit(row: tuple[Any, ...]) -> Hit:
    (block, chat, source, path, machine, session, agent, uuid, message, number, role, kind, time, tool, error,
     abandoned, start, length, title) = row  # fmt: skip
    return Hit(
        chat, readable(source or ""), readable(path or ""), readable(machine or ""), session, agent, uuid, message,
        block, number, Role(role), kind or "title", time, tool, bool(error), bool(abandoned), start or 0, length or 0,
        0.0, title,
    )  # fmt: skip


COLUMNS: Final = f"""
select b.id, coalesce(f.chat, b.chat), f.source, f.path, f.machine, f.session, f.agent,
  coalesce(r.original, r.uuid), r.message, b.number, b.role, r.kind,
  coalesce(r.time, c.started),
  coalesce(b.tool, (select min(i.tool) from blocks i where i.call = b.call and i.role = 'input')), b.state = 'error',
  coalesce(r.abandoned, false), r.start, r.length, {TITLE_TEXT}
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
"""  # noqa: S608 - no values in it
HITS: Final = f"{COLUMNS} where b.id in (select value from json_each(?))"  # noqa: S608
REPEATED: Final = """
select uuid from records where uuid in (select value from json_each(?)) group by uuid having count(*) > 1
union select original from records where original in (select value from json_each(?))
  and file in (select id from files where chat in (select value from json_each(?)))
"""
"""Rows that exist several times, as far as they are in some chats."""
COPIES: Final = f"""
{COLUMNS} where b.record in (
  select id from records where uuid in (select value from json_each(?))
  union select id from records where original in (select value from json_each(?))
    and file in (select id from files where chat in (select value from json_each(?))))
"""  # noqa: S608
"""Passages of the same rows, by the uuids of these and the chats that they are in."""
AT_PROJECT: Final = "select id from chats where project = ? or substr(project, 1, length(?)) = ?"
NAMES: Final = "select id, name from chats where id in (select value from json_each(?))"
