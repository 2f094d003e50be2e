"""Images and documents in messages."""

from typing import Final

from backscroll.conversation.pictures import bytes_of, pictures_of
from backscroll.records.content import Block, Document, Image
from backscroll.render.html.element import Html, el
from backscroll.render.html.images import detect_media_type
from backscroll.render.html.page_data import View

__all__ = ["document_note", "media", "picture", "pictures_of"]


def picture(block: Image, row: str, number: int, view: View) -> Html:
    """Return an image, or a note in its place."""
    kind = (block.source.media_type if block.source else None) or "picture"
    if block.source is not None and block.source.url:  # fetching it would reveal that the page is being read
        return el("p", f"[picture at {block.source.url}]", class_="picture-note muted")
    address = view.links.picture(row, number) if _is_picture(block) else None
    if address is None:
        return el("p", f"[{kind}, not shown here]", class_="picture-note muted")
    image = el("img", src=address, alt=f"Picture {number + 1} ({kind})", loading="lazy", class_="picture")
    # Browsers do not follow a link to a data: URL, and it would double the size of the page.
    return image if address.startswith("data:") else el("a", image, href=address, class_="picture-link")


def _is_picture(block: Image) -> bool:
    """Whether the bytes of the block are a supported image; otherwise its link would lead nowhere."""
    header = bytes_of(block, HEADER_CHARACTERS)
    return header is not None and (
        detect_media_type(header) is not None or detect_media_type(bytes_of(block) or b"") is not None
    )


def document_note(block: Document) -> Html:
    """Return a note in place of a document."""
    kind = (block.source.media_type if block.source else None) or "document"
    return el("p", f"[{kind}{f': {block.title}' if block.title else ''}]", class_="picture-note muted")


def media(blocks: list[Block], row: str, view: View) -> list[Html]:
    """Return the images and documents among the blocks of a row that has no other images."""
    items: list[Html] = []
    number = 0
    for block in blocks:
        if isinstance(block, Image):
            items.append(picture(block, row, number, view))
            number += 1
        elif isinstance(block, Document):
            items.append(document_note(block))
    return items


HEADER_CHARACTERS: Final = 65_536
"""Enough base64 for the type and size of nearly every image; a multiple of four, as base64 requires."""
