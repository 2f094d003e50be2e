"""The pictures in the documents, made from the sample conversations: the viewer in a real browser, and a terminal."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from backscroll.demo.sandbox import open_sandbox
from tests.journeys.visitor import be_ready
from tests.support.command import run_command

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
MAX_BYTES: Final = 200_000

CHAT: Final = "129df7b4"
"""The hunt for the flaky test."""
PLACE: Final = "No sleeps in tests"
"""What the picture of the chat begins with."""
SIZE: Final = ViewportSize(width=1180, height=780)
SCALE: Final = 1.5
ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]

TO_WEBP: Final = """async source => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.8);
}"""

COLUMNS: Final = 100
COMMANDS: Final = (
    ("list", "--since", "2w"),
    ("search", "flaky test role:answer", "-n", "1", "--hits", "2"),
    ("stats", "usage", "--by", "model"),
)
LINK: Final = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
FONTS: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
SVG: Final = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: FONTS; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
""".replace("FONTS", FONTS)

Colour = tuple[int, int, int]


def _theme(background: int, foreground: int, colours: str) -> TerminalTheme:
    def colour(number: int) -> Colour:
        return number >> 16, number >> 8 & 255, number & 255

    normal = [colour(int(one, 16)) for one in colours.split()]
    return TerminalTheme(colour(background), colour(foreground), normal, normal)


THEMES: Final = {
    "light": _theme(0xFFFFFF, 0x1F2328, "24292f cf222e 116329 9a6700 0969da 8250df 1b7c83 6e7781"),
    "dark": _theme(0x0D1117, 0xE6EDF3, "484f58 ff7b72 3fb950 d29922 58a6ff bc8cff 39c5cf b1bac4"),
}


def terminal(environment: Mapping[str, str], theme: str) -> str:
    """A terminal in which the commands were run, as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for words in COMMANDS:
        done = run_command(*words, environment=environment, columns=COLUMNS)
        assert done.returncode == 0, done.stdout
        typed = " ".join(f"'{word}'" if " " in word else word for word in words)
        console.print(Text.assemble(("$ ", "green"), (f"backscroll --demo {typed}", "bold")))
        console.print(Text.from_ansi(LINK.sub("", done.stdout).rstrip()), overflow="fold", no_wrap=False)
        console.print()
    drawn = console.export_svg(title="", theme=THEMES[theme], code_format=SVG, unique_id="terminal")
    return drawn.replace("rgba(255,255,255,0.35)", "#8c959f")  # the frame, to be seen on white too


@contextmanager
def viewer(environment: Mapping[str, str]) -> Iterator[str]:
    """A viewer that runs: the link that opens it."""
    command = [sys.executable, "-m", "backscroll", "open", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        yield json.loads("".join(lines))["link"]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def opened(browser: Browser, link: str) -> Page:
    """The chat in the viewer."""
    page = browser.new_context(viewport=SIZE, device_scale_factor=SCALE).new_page()
    page.goto(link)  # it lets this browser in, once
    page.goto(urljoin(link, f"/chats/{CHAT}"))
    be_ready(page)
    return page


def chat(page: Page, theme: str) -> bytes:
    """The chat where the bug is mended."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.locator("#messages article", has_text=PLACE).first.evaluate("one => one.scrollIntoView()")
    expect(page.locator("[aria-current=location]")).to_contain_text(PLACE)
    return smaller(page, page.screenshot())


def smaller(page: Page, png: bytes) -> bytes:
    """The same picture as WebP, with half of the bytes or fewer; the browser can do it."""
    other = page.context.new_page()
    data: str = other.evaluate(TO_WEBP, f"data:image/png;base64,{b64encode(png).decode()}")
    other.close()
    return b64decode(data.partition(",")[2])


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        sys.exit("no chromium is installed")
    with sync_playwright() as playwright, TemporaryDirectory() as home:
        own = os.environ | {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, env={**own})
        yield browser
        browser.close()


def keep(name: str, content: bytes) -> None:
    assert len(content) <= MAX_BYTES, f"{name} has {len(content)} bytes"
    (FOLDER / name).write_bytes(content)
    sys.stdout.write(f"docs/pictures/{name} ({len(content):,} bytes)\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with open_sandbox(datetime.now(UTC)) as room:
        own = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        own |= {**room.environment, "TZ": "UTC"}
        for theme in THEMES:
            keep(f"terminal-{theme}.svg", terminal(own, theme).encode())
        with chromium() as browser, viewer(own) as link:
            page = opened(browser, link)
            for theme in THEMES:
                keep(f"viewer-{theme}.webp", chat(page, theme))
