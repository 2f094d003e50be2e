"""The text index: which passages have which words. It follows the rows and can be rebuilt from them at any time.

Passages are added in the order of their ids, first the most useful ones (prompts, answers), then the others. So the
highest id in each stage shows how far the index has come, whatever happened to the process that wrote it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from backscroll.conversation.passages import Role
from backscroll.disk import private_folder
from backscroll.query.words import LONGEST_WORD, Preparation, normal
from backscroll.store.base import DamagedStoreError, PassageText
from backscroll.store.local.checked import VerifiedFiles, check_sum

STAGES: Final = (
    (Role.TITLE, Role.PROMPT, Role.ANSWER, Role.THINKING),
    (Role.INPUT, Role.OUTPUT, Role.OTHER),
)
"""The stages of indexing, in order."""
WEIGHTS: Final = {
    Role.TITLE: 2.6,
    Role.PROMPT: 2.2,
    Role.ANSWER: 1.9,
    Role.THINKING: 1.5,
    Role.INPUT: 1.3,
    Role.OUTPUT: 1.15,
    Role.OTHER: 1.05,
}
"""The weight of a match by role: text from the client itself (reminders, lists of skills, hooks) counts least."""
ROLE_FACTS: Final = {role: f"role:{role}" for role in Role}
AGENT_WEIGHT: Final = 0.9
SEGMENT_FILES: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
HEAP: Final = 48_000_000


class _Deletes(msgspec.Struct):
    num_deleted_docs: int
    opstamp: int


class _Segment(msgspec.Struct):
    """A segment, from the engine's own list."""

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
        """Readers get an empty index if none exists yet; the writer makes one. A damaged one is an error for both."""
        self.folder = folder
        self._checked = checked
        self._writer: tantivy.IndexWriter | None = None
        self._preparation = Preparation()
        """Passages whose texts are being prepared."""
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
        """The engine's list of segments; None if there is no index."""
        try:
            return META.decode((self.folder / "meta.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except msgspec.MsgspecError as error:
            raise DamagedStoreError(f"meta.json of the text index cannot be read: {error}") from error

    def files(self) -> list[Path]:
        """The files of the index."""
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
        """Changes with every commit, by any process."""
        return self.state[0]

    @property
    def state(self) -> tuple[int, int]:
        """The number of the last commit and its number of passages, read at the same time."""
        meta = self._meta()
        return (meta.opstamp, sum(segment.documents for segment in meta.segments)) if meta else (-1, 0)

    def searcher(self) -> tantivy.Searcher:
        """The current state of the index for searching."""
        return self.current()[1]

    def current(self) -> tuple[int, tantivy.Searcher]:
        """The current state of the index for searching, and the number of its commit."""
        # Without a stamp the files were removed: a rebuild has replaced them, and those that are open stay readable.
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
            document.add_text("facts", ROLE_FACTS[spot.role])
            if spot.tool:
                document.add_text("facts", f"tool:{spot.tool.lower()}")
                if "__" in spot.tool and spot.role is Role.INPUT:
                    document.add_text("text", spot.tool)  # such a name is one that people look for
            if spot.is_error:
                document.add_text("facts", "error")
            if spot.is_agent:
                document.add_text("facts", "agent")
            if spot.has_image:
                document.add_text("facts", "image")
            document.add_unsigned("block", spot.block)
            document.add_unsigned("file", spot.file)
            document.add_integer("time", (spot.time or 0) // 1000)
            document.add_float("weight", weight_of(spot.role, is_agent=spot.is_agent))
            writer.add_document(document)

    def delete(self, blocks: Sequence[int]) -> None:
        """Delete these passages."""
        if blocks:
            # By query: a term of a number that Python gives is never the engine's.
            self._writing().delete_documents_by_query(Query.term_set_query(SCHEMA, "block", blocks))

    def commit(self) -> int:
        """Make additions and deletions visible and durable; return the stamp of that state."""
        self._writing().commit()
        self._remember()
        return self.opstamp

    def marks(self) -> list[int]:
        """The highest passage id of each stage, from the index itself."""
        return last_of_stages(self.searcher())

    def close(self) -> None:
        """Close the writer; uncommitted passages are added again the next time."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()
            self._remember()

    def _remember(self) -> None:
        """Files that this process has written need no verification."""
        for path in self.files():
            if not self._checked.knows(path):
                with suppress(FileNotFoundError):  # merged meanwhile
                    self._checked.add(path)
        with suppress(OSError):  # it is only a cache
            self._checked.save()

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(HEAP, THREADS)
        return self._writer


def last_of_stages(searcher: tantivy.Searcher) -> list[int]:
    """The highest passage id of each stage."""
    marks = []
    for roles in STAGES:
        query = any_fact(f"role:{role}" for role in roles)
        found = searcher.search(query, limit=1, order_by_field="block").hits
        marks.append(int(found[0][0]) if found else 0)
    return marks


def _prepared(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("words", WORDS)
    index.config_reader("manual")
    return index


def weight_of(role: Role, *, is_agent: bool) -> float:
    """The value of the field `weight`. The engine multiplies a score by log2(2 + value), which is the weight again."""
    weight = max(1.0, WEIGHTS[role] * (AGENT_WEIGHT if is_agent else 1.0))
    return float(2.0**weight - 2.0)


def any_fact(facts: Iterable[str]) -> Query:
    """Passages that match any of these."""
    clauses = [(Occur.Should, fact(name)) for name in facts]
    return Query.boolean_query(clauses)


def fact(name: str) -> Query:
    """Passages that match this."""
    return Query.const_score_query(Query.term_query(SCHEMA, "facts", name, "basic"), 0.0)


def in_files(files: Sequence[int]) -> Query:
    """Passages of these files."""
    if not files:
        return Query.empty_query()
    return Query.const_score_query(Query.term_set_query(SCHEMA, "file", files), 0.0)


def frequency(searcher: tantivy.Searcher, word: str, within: Query | None = None) -> int:
    """The number of passages with a word, of those that another query matches, or of all.

    The engine's own frequency includes deleted passages until segments are merged.
    """
    query = Query.term_query(SCHEMA, "text", word)
    if within is not None:
        query = Query.boolean_query([(Occur.Must, query), (Occur.Must, within)])
    return searcher.search(query, limit=1).count or 0  # type: ignore[attr-defined]  # not in its stub


def quoted(roles: Iterable[Role]) -> str:
    """Roles as SQL lists them."""
    return ", ".join(f"'{role}'" for role in roles)


def words_of(text: str) -> list[str]:
    """The words of a text, as the engine tokenises it."""
    return list(WORDS.analyze(normal(text)))


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="words")
    builder.add_text_field("facts", tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_unsigned_field("block", indexed=True, fast=True)
    builder.add_unsigned_field("file", indexed=True, fast=True)
    builder.add_integer_field("time", fast=True)
    builder.add_float_field("weight", fast=True)
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD * 4 + 1))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()


SCHEMA: Final = _schema()
WORDS: Final = _analyzer()
THREADS: Final = 1
