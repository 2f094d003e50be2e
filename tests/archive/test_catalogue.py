import os

from hypothesis import given
from hypothesis import strategies as st

from backscroll.archive.catalogue import (
    BEGINNING,
    AddedBytes,
    BadLine,
    CaptureEnd,
    CatalogueEntry,
    Chunk,
    Forgotten,
    Gone,
    Header,
    ImpossibleLine,
    Moved,
    NewFile,
    VerificationEnd,
    decode,
    encode,
    read_name,
    written_name,
)

AT = "2026-01-05T10:00:00Z"
LINES: list[CatalogueEntry] = [
    Header(at=AT),
    NewFile(at=AT, file=1, machine="m", home="/h", path="projects/-a/x.jsonl", type="session"),
    AddedBytes(at=AT, file=1, version=0, size=5, modified_ns=7, chunks=[Chunk("ab" * 32, 1, 0, 9, 5)], bookmark=[5, 1]),
    NewFile(at=AT, file=2, machine="m", home="/h", path="projects/-a/y.jsonl", type="session"),
    Gone(at=AT, file=1),
    Moved(at=AT, file=2, path="projects/-b/y.jsonl"),
    CaptureEnd(at=AT, machine="m", home="/h"),
]

texts = st.text()
numbers = st.integers(0, 2**63 - 1)
chunks = st.builds(Chunk, texts, numbers, numbers, numbers, numbers)
entries: st.SearchStrategy[CatalogueEntry] = st.one_of(
    st.builds(Header, at=texts),
    st.builds(NewFile, at=texts, file=numbers, machine=texts, home=texts, path=texts, type=texts),
    st.builds(
        AddedBytes,
        at=texts,
        file=numbers,
        version=numbers,
        size=numbers,
        modified_ns=st.integers(-(2**63), 2**63 - 1),
        chunks=st.lists(chunks, max_size=3),
        bookmark=st.lists(numbers, max_size=9),
    ),
    st.builds(Moved, at=texts, file=numbers, path=texts),
    st.builds(Gone, at=texts, file=numbers),
    st.builds(Forgotten, at=texts, key=texts),
    st.builds(CaptureEnd, at=texts, machine=texts, home=texts),
    st.builds(VerificationEnd, at=texts, damaged=numbers, quick=st.booleans()),
)


def encoded(lines: list[CatalogueEntry]) -> list[bytes]:
    return encode(lines, BEGINNING)[0].splitlines(keepends=True)


def sound(data: bytes) -> list[CatalogueEntry]:
    return [line.entry for line in decode(data) if not isinstance(line.entry, (BadLine, ImpossibleLine))]


def bad(data: bytes) -> list[int]:
    """The numbers of the lines that are not what was written."""
    return [line.entry.number for line in decode(data) if isinstance(line.entry, BadLine)]


@given(st.lists(entries), st.lists(entries))
def test_a_catalogue_is_read_back_after_any_number_of_additions(
    first: list[CatalogueEntry], second: list[CatalogueEntry]
) -> None:
    begun, last_sum = encode(first, BEGINNING)
    data = begun + encode(second, last_sum)[0]
    assert sound(data) == first + second
    assert bad(data) == []
    assert [line.end for line in decode(data)][-1:] == ([len(data)] if data else [])


@given(st.binary().filter(lambda name: b"\0" not in name))
def test_any_name_is_written_and_read(name: bytes) -> None:
    text, in_hex = written_name(os.fsdecode(name))
    entry = NewFile(at=AT, file=1, machine="m", home="/h", path=text, path_hex=in_hex, type="other")
    assert sound(b"".join(encoded([entry]))) == [entry]
    assert os.fsencode(read_name(text, in_hex)) == name


@given(st.lists(entries, min_size=1), st.data())
def test_a_torn_tail_is_left_out(written: list[CatalogueEntry], data: st.DataObject) -> None:
    lines = encoded(written)
    cut = data.draw(st.integers(0, len(lines[-1]) - 2))  # one that only lacks its newline is whole
    whole = b"".join(lines[:-1])
    assert sound(whole + lines[-1][:cut]) == written[:-1]
    assert [line.end for line in decode(whole + lines[-1][:cut])][-1:] == ([len(whole)] if whole else [])


@given(st.integers(0, len(LINES) - 1), st.data())
def test_a_changed_line_is_noticed_and_only_it(number: int, data: st.DataObject) -> None:
    lines = encoded(LINES)
    at = data.draw(st.integers(0, len(lines[number]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (lines[number][at], 10)))
    lines[number] = lines[number][:at] + bytes([byte]) + lines[number][at + 1 :]
    assert bad(b"".join(lines)) == [number + 1]


def test_a_line_whose_sum_is_changed_does_not_cost_the_next_one() -> None:
    lines = encoded(LINES)
    lines[2] = lines[2].replace(b'"sum":"', b'"sum":"0', 1)[:-4] + b'"}\n'
    assert bad(b"".join(lines)) == [3]


@given(st.integers(0, len(LINES) - 2))
def test_a_removed_line_is_noticed(number: int) -> None:
    lines = encoded(LINES)
    del lines[number]
    assert bad(b"".join(lines)) == [number + 1]  # the line that does not follow the one before it


@given(st.integers(0, len(LINES) - 1), st.integers(0, len(LINES) - 1))
def test_swapped_lines_are_noticed(one: int, other: int) -> None:
    lines = encoded(LINES)
    lines[one], lines[other] = lines[other], lines[one]
    found = bad(b"".join(lines))
    if one == other:
        assert found == []
    else:
        assert {one + 1, other + 1} <= set(found)
        assert set(found) <= {one + 1, one + 2, other + 1, other + 2}


@given(st.integers(0, len(LINES) - 1))
def test_a_doubled_line_is_noticed_and_only_it(number: int) -> None:
    lines = encoded(LINES)
    lines.insert(number, lines[number])
    assert bad(b"".join(lines)) == [number + 2]
    assert sound(b"".join(lines)) == LINES


def test_lines_of_another_catalogue_are_noticed() -> None:
    other = encoded([Header(at="2020-01-01T00:00:00Z"), *LINES[1:]])
    assert bad(encoded(LINES)[0] + b"".join(other[1:])) == [2]


@given(st.binary())
def test_any_bytes_can_be_read(data: bytes) -> None:
    assert len(list(decode(data))) == data.count(b"\n")
