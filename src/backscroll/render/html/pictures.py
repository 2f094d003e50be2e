"""Pictures in rows: which there are, and how one is shown."""

from typing import Final

from backscroll.conversation.pictures import bytes_of, pictures_of
from backscroll.records.content import Block, Document, Image
from backscroll.render.html.element import Html, el
from backscroll.render.html.images import sniffed
from backscroll.render.html.page_data import View

__all__ = ["document_note", "media", "picture", "pictures_of"]


def picture(block: Image, row: str, number: int, view: View) -> Html:
    """A picture, or a note that there is one."""
    kind = (block.source.media_type if block.source else None) or "picture"
    if block.source is not None and block.source.url:
        return el("p", f"[picture at {block.source.url}]", class_="picture-note muted")  # never fetched from outside
    address = view.links.picture(row, number) if _is_picture(block) else None
    if address is None:
        return el("p", f"[{kind}, not shown here]", class_="picture-note muted")
    shown = el("img", src=address, alt=f"Picture {number + 1} ({kind})", loading="lazy", class_="picture")
    # What stands in the page itself is not said twice, and no browser follows such a link.
    return shown if address.startswith("data:") else el("a", shown, href=address, class_="picture-link")


def _is_picture(block: Image) -> bool:
    """Whether its bytes are those of a picture that is shown; else its address would lead to nothing."""
    begin = bytes_of(block, BEGIN)
    return begin is not None and (sniffed(begin) is not None or sniffed(bytes_of(block) or b"") is not None)


def document_note(block: Document) -> Html:
    """A note that there was a document."""
    kind = (block.source.media_type if block.source else None) or "document"
    return el("p", f"[{kind}{f': {block.title}' if block.title else ''}]", class_="picture-note muted")


def media(blocks: list[Block], row: str, view: View) -> list[Html]:
    """The pictures and documents among some blocks of a row that holds no other pictures."""
    shown: list[Html] = []
    number = 0
    for block in blocks:
        if isinstance(block, Image):
            shown.append(picture(block, row, number, view))
            number += 1
        elif isinstance(block, Document):
            shown.append(document_note(block))
    return shown


BEGIN: Final = 65_536
"""So many characters say nearly always what a picture is and how large; a multiple of four, as base64 has it."""
