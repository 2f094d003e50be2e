"""The indexed files, and their saved transcripts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from sys import intern
from typing import Any, Final

import msgspec

from backscroll.conversation.overview import Overview
from backscroll.conversation.rows import Row, RowCall
from backscroll.conversation.saved import restore, saved_row
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.records.tools import FILE_TOOLS
from backscroll.store.batches import EPOCH, ROW_BEFORE, readable
from backscroll.store.detail import CallDetail, decode_detail
from backscroll.store.reader import IndexedFile
from backscroll.store.sql.statements import RowReader, array, parts

PLAIN: Final = CallDetail()


class SavedFiles:
    """Reads the rows of files from the tables."""

    def __init__(self, rows: RowReader) -> None:
        self._readable = rows

    def known(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """Return the indexed files, by id: those among `sources`, or all."""
        if sources is None:
            rows = self._readable.execute(FILES)
        else:
            some = " where source in (select value from json_each(?))"
            rows = self._readable.execute(FILES + some, (array(sources),))
        return {file.source: file for file in map(_indexed, rows)}

    def of_chat(self, chat: int) -> list[IndexedFile]:
        """Return the files of a chat."""
        return list(map(_indexed, self._readable.execute(FILES + " where chat = ? order by id", (chat,))))

    def load(self, chats: Iterable[int]) -> Iterator[tuple[int, Transcript]]:
        """Yield the saved transcripts of these chats, by file."""
        for chat in chats:
            saved = self._all(
                "select id, source, path, session, agent, state from files where chat = ? and state is not null"
                " order by id",
                chat,
            )
            for number, source, path, session, agent, state in saved:
                source, path = readable(source), readable(path)
                # Only a file that is not an earlier version continues: rows are named after its path.
                place = TranscriptPlace(source, session, agent, path, path)
                yield number, restore(place, state, self._rows(number, source))

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """Return the titles of the rows of these files, by row and by the file that has the title."""
        return self._titles("t.row in (select uuid from records where file in (select value from json_each(?)))", files)

    def titles_in(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """Return the titles of rows as `titles` does, for files with very many rows: it scans all titles instead."""
        where = "exists (select 1 from records r where r.uuid = t.row and r.file in (select value from json_each(?)))"
        return self._titles(where, files)

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the titles of these rows, by row and by the file that has the title."""
        return self._titles("t.row in (select value from json_each(?))", rows)

    def _titles(self, where: str, keys: Iterable[Any]) -> dict[str, dict[str, str]]:
        titles: dict[str, dict[str, str]] = defaultdict(dict)
        statement = f"select t.row, f.source, t.title from titles t join files f on f.id = t.file where {where}"  # noqa: S608
        for some in parts(keys):
            for row, source, title in self._all(statement, some):
                titles[readable(row)][readable(source)] = title
        return titles

    def _rows(self, file: int, source: str) -> Iterator[Row]:
        calls: dict[int, list[RowCall]] = defaultdict(list)
        results: dict[int, list[str]] = defaultdict(list)
        failed: dict[int, list[str]] = defaultdict(list)
        for record, role, call, tool, touched, detail, state in self._readable.execute(
            "select b.record, b.role, b.call, b.tool, b.file, b.detail, b.state from blocks b"
            " join records r on r.id = b.record where r.file = ? and b.role in ('input', 'output') order by b.id",
            (file,),
        ):
            if role == "input":
                known = decode_detail(detail) if detail else PLAIN
                changed = touched if tool in FILE_TOOLS else None
                calls[record].append(RowCall(call or "", tool or "", changed, known.agent, known.todo))
            elif call:
                results[record].append(call)
                if state not in (None, "done"):
                    failed[record].append(call)
        before: str | None = None
        for (
            record, number, uuid, parent, kind, time, sidechain, message, model, text, session, origin,
        ) in self._readable.execute(
            "select id, number, uuid, parent, kind, time, sidechain, message, model, text, forked_session,"
            " forked_uuid from records where file = ? and kind <> 'outside' order by number, id",
            (file,),
        ):  # fmt: skip
            uuid, parent = readable(uuid), before if parent == ROW_BEFORE else parent
            before = uuid
            yield saved_row(
                source,
                number,
                uuid,
                readable(parent) if parent else None,
                kind,
                EPOCH + timedelta(0, 0, time) if time is not None else None,
                bool(sidechain),
                message,
                model,
                readable(text) if text else "",
                tuple(results[record]) if kind == "tool-result" and record in results else (),
                tuple(failed[record]) if kind == "tool-result" and record in failed else (),
                tuple(calls[record]) if record in calls else (),
                session,
                origin,
            )

    def _all(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return self._readable.execute(statement, values).fetchall()

    def _column(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return [row[0] for row in self._all(statement, *values)]


def decode_overview(text: str) -> Overview:
    """Return a chat's overview, as it was written."""
    return OVERVIEW.decode(text)


def _indexed(row: tuple[Any, ...]) -> IndexedFile:
    number, source, machine, home, path, kind, size, archived, mark, lines, modified = row
    machine, home = intern(readable(machine)), intern(readable(home))  # thousands of files share them
    return IndexedFile(
        number, readable(source), machine, home, readable(path), intern(kind), size, bool(archived), _mark(mark),
        lines, modified,
    )  # fmt: skip


def _mark(text: str | None) -> tuple[int, ...] | None:
    return tuple(msgspec.json.decode(text)) if text else None


FILES: Final = "select id, source, machine, home, path, kind, size, archived, bookmark, lines, modified from files"
OVERVIEW: Final = msgspec.json.Decoder(Overview)
