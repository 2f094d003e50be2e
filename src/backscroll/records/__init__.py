"""Decode the lines of session files. Pure: bytes in, typed values out; nothing here reads a disk or a clock.

`decode` tries the strict, typed decoder first (`FAST`). A line that it refuses takes the slow path: `lenient`
parses JSON that is glued, damaged or not quite JSON, and `salvage` makes the best record of it, where a field of
the wrong type loses that field only. `kinds`, `outside` and `content` hold every wire name. `drift` lists the
unknown parts of a record. `long_lines` decodes a line that comes in pieces.
"""
