"""The text index: the words of passages. It follows the rows and can be rebuilt from them at any time.

Passages are added in the order of their ids, first the most useful ones (prompts, answers), then the others. So the
highest id in each stage is the progress of the index, even if the process that wrote it ended early.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import tantivy
from tantivy import Occur, Query

from backscroll.disk import private_folder, read_whole
from backscroll.query.words import Preparation
from backscroll.store.base import DamagedStoreError, PassageText
from backscroll.store.local.generations import ROWS
from backscroll.store.local.verified_files import VerifiedFiles, check_sum
from backscroll.store.search.words import (
    LEAST_FACTOR,
    ROLE_FACTS,
    STAGES,
    WORDS,
    factor_of,
    facts_of,
    is_searched_by_tool,
)
from backscroll.store.search.worths import exact

SEGMENT_FILES: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
HEAP: Final = 48_000_000
TIMES: Final = 1 / LEAST_FACTOR


class _Deletes(msgspec.Struct):
    num_deleted_docs: int
    opstamp: int


class _Segment(msgspec.Struct):
    """A segment in the engine's own list."""

    segment_id: str
    max_doc: int
    deletes: _Deletes | None = None

    @property
    def files(self) -> list[str]:
        name = self.segment_id.replace("-", "")
        deletes = [f"{name}.{self.deletes.opstamp}.del"] if self.deletes else []
        return [f"{name}.{part}" for part in SEGMENT_FILES] + deletes

    @property
    def documents(self) -> int:
        return self.max_doc - (self.deletes.num_deleted_docs if self.deletes else 0)


class _Meta(msgspec.Struct):
    segments: list[_Segment]
    opstamp: int


META: Final = msgspec.json.Decoder(_Meta)


class TextIndex:
    """The passages of a library by their words."""

    def __init__(self, folder: Path, checked: VerifiedFiles, *, write: bool) -> None:
        """Open the index. Readers get an empty one if none exists; the writer creates one. Damage is an error for
        both.
        """
        self.folder = folder
        self._checked = checked
        self._writer: tantivy.IndexWriter | None = None
        self._preparation = Preparation()
        """The texts being prepared for the index."""
        self._opstamp = -1
        self._is_nowhere = False
        self._index = self._open(write=write)

    def _open(self, *, write: bool) -> tantivy.Index:
        is_there = self._meta() is not None
        self._is_nowhere = not is_there and not write
        if is_there:
            self.check()
        if write:
            private_folder(self.folder)
        return _prepared(tantivy.Index(SCHEMA, path=None if self._is_nowhere else str(self.folder)))

    def _meta(self) -> _Meta | None:
        """Return the engine's list of segments; None if there is no index."""
        try:
            return META.decode(read_whole(self.folder / "meta.json"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except msgspec.MsgspecError as error:
            raise DamagedStoreError(f"meta.json of the text index cannot be read: {error}") from error

    def files(self) -> list[Path]:
        """Return the files of the index."""
        meta = self._meta()
        names = [name for segment in meta.segments for name in segment.files] if meta else []
        return [self.folder / name for name in names]

    def check(self, *, again: bool = False) -> None:
        """Verify the checksums of the files that were not verified before, or of all files if `again`."""
        while True:
            files = self.files()
            try:
                for path in files:
                    if again or not self._checked.has(path):
                        check_sum(path)
                        self._checked.add(path)
            except FileNotFoundError as error:
                if self.files() == files:
                    raise DamagedStoreError(f"a file of the text index is gone: {error.filename}") from error
                continue  # the writer has merged it meanwhile
            return

    @property
    def opstamp(self) -> int:
        """The number of the last commit, by any process."""
        return self.state[0]

    @property
    def state(self) -> tuple[int, int]:
        """The number of the last commit and its number of passages, read at the same time."""
        meta = self._meta()
        return (meta.opstamp, sum(segment.documents for segment in meta.segments)) if meta else (-1, 0)

    @property
    def has_deleted(self) -> bool:
        """Whether the engine still counts the words of passages that were deleted."""
        meta = self._meta()
        return meta is None or any(segment.deletes is not None for segment in meta.segments)

    def searcher(self) -> tantivy.Searcher:
        """Return a searcher of the current state of the index."""
        return self.current()[1]

    def current(self) -> tuple[int, tantivy.Searcher]:
        """Return a searcher of the current state of the index, and the number of its commit."""
        # Without a stamp the files were removed: a rebuild has replaced them, and open files stay readable.
        while (stamp := self.opstamp) != self._opstamp and (stamp >= 0 or self._opstamp < 0):
            if self._is_nowhere:  # it was created since
                self._index = self._open(write=False)
            elif self._writer is None:
                self.check()
            self._index.reload()
            self._opstamp = stamp  # unless there was another commit meanwhile
        return self._opstamp, self._index.searcher()

    def add(self, documents: Sequence[PassageText]) -> None:
        """Add passages; they become visible with `commit`."""
        if not documents:
            return
        writer, prepare = self._writing(), self._preparation.prepare
        for spot, text in documents:
            words, parts = prepare(text)
            document = tantivy.Document()
            try:
                document.add_text("text", words)
            except UnicodeEncodeError:
                document.add_text("text", words.encode("utf-8", "replace").decode())
            if parts:
                document.add_text("text", parts)  # as a separate value: no phrase matches across both
            for fact in facts_of(spot):
                document.add_text("facts", fact)
            if is_searched_by_tool(spot):
                document.add_text("text", spot.tool or "")
            document.add_unsigned("block", spot.block)
            document.add_unsigned("file", spot.file)
            document.add_integer("time", (spot.time or 0) // 1000)
            document.add_float("weight", weight_of(factor_of(spot, len(words) + len(parts))))
            writer.add_document(document)

    def delete(self, blocks: Sequence[int]) -> None:
        """Delete these passages."""
        if blocks:
            # By query: a term made of a number from Python never equals the engine's.
            self._writing().delete_documents_by_query(Query.term_set_query(SCHEMA, "block", blocks))

    def commit(self) -> int:
        """Make additions and deletions visible and durable; return the stamp of that state."""
        self._writing().commit()
        self._remember()
        return self.opstamp

    def marks(self) -> list[int]:
        """Return the highest passage id of each stage, from the index itself."""
        return last_of_stages(self.searcher())

    def close(self) -> None:
        """Close the writer; uncommitted passages are added again the next time."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()
            self._remember()

    def _remember(self) -> None:
        """Record files that this process has written, which need no verification; forget those merged away."""
        files = self.files()
        self._checked.forget(but={ROWS, *(path.name for path in files)})
        for path in files:
            if not self._checked.knows(path):
                with suppress(FileNotFoundError):  # merged meanwhile
                    self._checked.add(path)
        with suppress(OSError):  # it is only a cache
            self._checked.save()

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(HEAP, THREADS)
        return self._writer


def weight_of(factor: float) -> float:
    """Return the weight that raises a score to `TIMES` the factor: the engine takes log2(2 + weight), at least 1."""
    return math.exp2(factor * TIMES) - 2.0


def factor_with(weight: float) -> float:
    """Return the factor of a passage with this weight."""
    return exact(math.log2(2.0 + weight) / TIMES)


def last_of_stages(searcher: tantivy.Searcher) -> list[int]:
    """Return the highest passage id of each stage."""
    marks = []
    for roles in STAGES:
        facts = [Query.term_query(SCHEMA, "facts", ROLE_FACTS[role], "basic") for role in roles]
        query = Query.boolean_query([(Occur.Should, fact) for fact in facts])
        last_hits = searcher.search(query, limit=1, order_by_field="block").hits
        marks.append(int(last_hits[0][0]) if last_hits else 0)
    return marks


def _prepared(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("words", WORDS)
    index.config_reader("manual")
    return index


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="words")
    builder.add_text_field("facts", tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_unsigned_field("block", indexed=True, fast=True)
    builder.add_unsigned_field("file", indexed=True, fast=True)
    builder.add_integer_field("time", fast=True)
    builder.add_float_field("weight", fast=True)
    return builder.build()


SCHEMA: Final = _schema()
THREADS: Final = 1
