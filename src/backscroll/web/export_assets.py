"""Static files for exported pages, which carry them inside."""

from functools import cache
from importlib.resources import files

from backscroll.render.html.export import Assets

STYLES = ("base.css", "code.css", "messages.css", "chat.css", "export.css")


@cache
def asset(name: str) -> str:
    """Return the text of a file."""
    return (files("backscroll.web") / "static" / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def export_assets() -> Assets:
    """Return the styles and scripts of an exported page."""
    return Assets(style="\n".join(map(asset, STYLES)), script=asset("export.js"))
