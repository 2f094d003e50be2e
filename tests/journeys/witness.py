"""Record what must not happen while a hostile transcript is read."""

from collections.abc import Callable
from typing import Any, Final

from playwright.sync_api import BrowserContext, Dialog, Page

from backscroll.render.html.icons import DRAWINGS
from tests.journeys.visitor import PATIENCE
from tests.support.hostile import culprit, template_of

OURS: Final = ("data:image/", "data:,", "about:blank")
DRAWN: Final = [f'<path d="{drawing}"></path>' for drawing in DRAWINGS.values()]

LISTENING: Final = """
addEventListener("securitypolicyviolation", (event) => {
  witnessed(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
}, true);
"""

LOOKING: Final = """(drawings) => {
  const wrong = [];
  const tell = (node, why) => wrong.length < 20 && wrong.push(`${why}: ${node.outerHTML.slice(0, 300)}`);
  const rooms = [document];
  for (const node of document.querySelectorAll("template")) rooms.push(node.content);
  for (const room of rooms) {
    for (const node of room.querySelectorAll("*")) {
      for (const { name, value } of node.attributes) {
        if (/^on/i.test(name)) tell(node, "on");
        if (/^(srcdoc|ping|srcset|background|formaction|xlink:href|manifest|poster|action)$/i.test(name)
            && !(name === "action" && /^\\/[a-z]/.test(value))) tell(node, name);
        const scheme = /^(href|src|data)$/i.test(name) && /^[\\0-\\x20]*([a-z+.\\s-]+):/i.exec(value);
        if (scheme && !/^(https?|mailto)$/i.test(scheme[1]) && value !== "data:,"
            && !/^data:image\\/(png|jpeg|gif|webp);/.test(value)) tell(node, "address");
      }
    }
    const strange = "iframe, frame, object, embed, applet, base, portal, video, audio, math, foreignObject"
      + ", meta[http-equiv=refresh]";
    for (const node of room.querySelectorAll(strange)) tell(node, "element");
    const inside = ["form", "input", "svg", "style", "link", "script", "[name]"].map((one) => `article ${one}`);
    // Our own icons are known to the letter.
    const ours = (node) => node.matches("svg.icon") && drawings.includes(node.innerHTML);
    for (const node of room.querySelectorAll(inside)) if (!ours(node)) tell(node, "in a message");
    for (const node of room.querySelectorAll("article [id], article[id]")) {
      if (!/^[mt]-/.test(node.id)) tell(node, "id");
    }
    for (const node of room.querySelectorAll("img, source")) {
      const place = new URL(node.src, location.href);
      if (place.origin !== location.origin && place.protocol !== "data:") tell(node, "picture");
    }
  }
  const text = document.title + rooms.map((room) => (room.body ?? room).textContent).join("");
  const odd = text.match(/.{0,60}[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069].{0,60}/);
  if (odd) wrong.push(`control character: ${JSON.stringify(odd[0])}`);
  if (document.querySelectorAll("main").length !== 1) wrong.push("no main");
  return wrong;
}"""


class Witness:
    """Watches every page of a context."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.context = context
        self.origin = origin
        context.set_default_timeout(PATIENCE)
        self.wrong: list[str] = []
        context.expose_binding("hit", lambda _, number=None: self._note(f"script: {_told(number)}"))
        context.expose_binding("witnessed", lambda _, what: self._note(what))
        context.add_init_script(LISTENING)
        context.on("request", lambda request: self._asked(request.url))
        context.on("console", lambda message: self._said(message.type, message.text, message.location.get("url", "")))
        context.on("weberror", lambda error: self._note(f"error: {error.error}"))
        context.on("dialog", self._asked_for)

    def _note(self, what: str) -> None:
        if len(self.wrong) < 50:
            self.wrong.append(what)

    def _asked_for(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin, *OURS)):
            self._note(f"request: {url[:300]}")

    def _said(self, kind: str, text: str, where: str) -> None:
        if kind in ("error", "warning"):
            self._note(f"console: {text[:300]} {where[:200]}")

    def forgive(self, told: str) -> None:
        """Forget what the console said of this."""
        self.wrong = [what for what in self.wrong if told not in what]

    def look(self, page: Page, what: str = "") -> None:
        """Look over all that is in the page; whatever was or is wrong ends the test."""
        found: list[str] = page.evaluate(LOOKING, DRAWN)
        wrong = [*self.wrong, *found]
        assert not wrong, f"{what or page.url}\n" + "\n".join(wrong[:20])

    def visit(self, page: Page, address: str, then: Callable[[Page], Any] | None = None) -> None:
        """Open an address, do something there, and look."""
        page.goto(f"{self.origin}{address}")
        unfold(page)
        if then:
            then(page)
        self.look(page)


def unfold(page: Page) -> None:
    """Open everything that is folded, but for conversations of agents, each of which would be asked for."""
    page.evaluate("document.querySelectorAll('details:not([open], [data-src])').forEach(one => { one.open = true; })")


def _told(number: object) -> str:
    if not isinstance(number, int):
        return f"{number}"
    template, field = culprit(number)
    return f"{number} = template {template} {template_of(template)!r} in field {field}"
