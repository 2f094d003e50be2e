"""The archive: the exact bytes of everything in a home, written once, with checksums.

`capture` compares a home with the archive and reads what is new; `writer` packs it, data first, then the catalogue, one
writer at a time (`pack_writing`); `packs` reads chunks; `rewriting` forgets; `one_file` keeps one file at each path;
`merge` brings one archive into another, for a backup or a repair; `end_note` shows that the end of the catalogue is
lost, `line_copies` has its lines a second time, in the packs, and `recovery` restores it from these; `archive` reads
both, without the lines that no file can have, which `plausible` recognises; `verify` proves that they are intact;
`reading` reads a kept file line by line, like a live one; `early` keeps a copy of an early client's database; `restore`
puts files back. The format is described in `docs/reference/archive-format.md`.
"""
