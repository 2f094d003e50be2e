"""The kept files as the lines of a rewritten catalogue."""

from collections.abc import Iterable

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import (
    AddedBytes,
    CaptureEnd,
    CatalogueEntry,
    Forgotten,
    Gone,
    Header,
    NewFile,
    Suspect,
    written_name,
)
from backscroll.archive.kept_file import KeptFile, Version, written_type


def entries_of(archive: Archive, at: str) -> Iterable[CatalogueEntry]:
    """Yield all lines, as if everything had been kept at once; lines without their own time get `at`."""
    yield Header(at=at, first_pack=archive.first_pack)
    for file in archive.files.values():
        since = file.versions[0].since if file.versions else at
        yield new_file_entry(file, since)
        for number, version in enumerate(file.versions):
            yield AddedBytes(
                at=version.since,
                file=file.number,
                version=number,
                size=version.size,
                modified_ns=version.modified_ns,
                chunks=version.chunks,
                bookmark=list(file.bookmark or ()),
                unrelated=version.is_unrelated,
            )
        if file.is_suspect:
            yield Suspect(at=at, file=file.number)
        if file.gone_since:
            yield Gone(at=file.gone_since, file=file.number)
    for key in sorted(archive.forgotten):
        yield Forgotten(at=at, key=key)
    for (machine, home), at in archive.captured.items():
        text, in_hex = written_name(home)
        yield CaptureEnd(at=at, machine=machine, home=text, home_hex=in_hex)
    if archive.verified:
        yield archive.verified


def new_file_entry(file: KeptFile, at: str) -> NewFile:
    """Return the line that introduces a file."""
    home, home_hex = written_name(file.home)
    path, path_hex = written_name(file.path)
    return NewFile(
        at=at,
        file=file.number,
        machine=file.machine,
        home=home,
        path=path,
        type=written_type(file.type),
        home_hex=home_hex,
        path_hex=path_hex,
    )


def relation_of(file: KeptFile, version: Version) -> AddedBytes:
    """Return a line that adds no bytes to a version, only its relation to the one before."""
    return AddedBytes(
        at=version.since,
        file=file.number,
        version=version.number - 1,
        size=version.size,
        modified_ns=version.modified_ns,
        chunks=[],
        bookmark=list(file.bookmark or ()),
        unrelated=version.is_unrelated,
    )
