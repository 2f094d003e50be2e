"""The images in rows, in order, and their bytes."""

import binascii

from backscroll.records.content import Image, ToolResult
from backscroll.records.decode import value_of
from backscroll.records.kinds import Assistant, Attachment, User
from backscroll.records.record import Record


def pictures_of(record: Record | None) -> list[Image]:
    """Return all images of a row, in order, including those in tool results."""
    if isinstance(record, (User, Assistant)):
        content = record.message.content if record.message else ""
    elif isinstance(record, Attachment):
        content = (record.attachment.prompt if record.attachment else None) or ""
    else:
        content = ""
    pictures: list[Image] = []
    for block in () if isinstance(content, str) else content:
        if isinstance(block, Image):
            pictures.append(block)
        elif isinstance(block, ToolResult) and not isinstance(block.content, str):
            pictures += [inner for inner in block.content if isinstance(inner, Image)]
    return pictures


def bytes_of(picture: Image, most: int | None = None) -> bytes | None:
    """Return the decoded bytes; None if missing or not base64. `most` limits the characters that are read."""
    value = value_of(picture.source.data) if picture.source else None
    if not isinstance(value, str):
        return None
    try:
        return binascii.a2b_base64(value[:most].encode("ascii", "replace"))
    except binascii.Error:
        return None
