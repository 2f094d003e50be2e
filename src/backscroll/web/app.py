"""The application: routes and their handlers."""

from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route

from backscroll.httpd.guard import Access, Guard
from backscroll.web.api.errors import HANDLERS
from backscroll.web.api.routes import ROUTES as API
from backscroll.web.assets import KnownFiles
from backscroll.web.live_updates import LiveUpdates
from backscroll.web.pages import (
    chat,
    chats,
    compare,
    context,
    export,
    home,
    palette,
    pane,
    projects,
    prompts,
    resume,
    search,
    settings,
    settings_forgets,
    settings_sync,
    share,
    spend,
    stats,
    stats_front,
)
from backscroll.web.pages import files as file_pages
from backscroll.web.refusals import refuse
from backscroll.web.requests import page
from backscroll.web.state import ViewerState


def make_app(state: ViewerState, access: Access | None = None, live: LiveUpdates | None = None) -> Guard:
    """Return the application behind its guard; without `access`, for this machine only."""
    app = Starlette(routes=ROUTES, exception_handlers=HANDLERS)
    app.state.viewer = state
    app.state.live = live or LiveUpdates(state)
    return Guard(app, access or Access(), refuse)


ROUTES: list[BaseRoute] = [
    Route("/", page(home.show)),
    Route("/chats", page(chats.show)),
    Route("/chats/{chat}", page(chat.show)),
    Route("/chats/{chat}/chunks/{number}", page(chat.chunk)),
    Route("/chats/{chat}/context", page(context.show)),
    Route("/chats/{chat}/warm", page(chat.warm)),
    Route("/chats/{chat}/side", page(chat.side)),
    Route("/chats/{chat}/changes", page(chat.changes)),
    Route("/chats/{chat}/find", page(chat.find)),
    Route("/chats/{chat}/agents/{agent}", page(chat.agent)),
    Route("/chats/{chat}/agents/{agent}/messages", page(chat.agent_messages)),
    Route("/chats/{chat}/whole/{call:path}", page(chat.whole)),
    Route("/chats/{chat}/rows/{row:path}", page(chat.row)),
    Route("/chats/{chat}/pictures/{row:path}/{number}", page(chat.shown_picture)),
    Route("/chats/{chat}/compare", page(compare.show)),
    Route("/chats/{chat}/markdown", page(export.as_markdown)),
    Route("/chats/{chat}/messages/{message:path}/markdown", page(export.message_as_markdown)),
    Route("/chats/{chat}/messages/{message:path}/prompt", page(prompts.save_from_chat)),
    Route("/chats/{chat}/export", page(export.show)),
    Route("/chats/{chat}/resume", page(resume.show)),
    Route("/chats/{chat}/terminal", page(resume.terminal), methods=["POST"]),
    Route("/chats/{chat}/share", page(share.show)),
    Route("/chats/{chat}/share/masks", page(share.preview)),
    Route("/chats/{chat}/marks", page(chat.marks), methods=["POST"]),
    Route("/search", page(search.show)),
    Route("/searches", page(search.save), methods=["POST"]),
    Route("/prompts", page(prompts.show)),
    Route("/prompts", page(prompts.save), methods=["POST"]),
    Route("/prompts.json", page(prompts.as_file)),
    Route("/prompts.json", page(prompts.import_file), methods=["POST"]),
    Route("/prompts/{prompt}", page(prompts.one)),
    Route("/prompts/{prompt}", page(prompts.act), methods=["POST"]),
    Route("/prompts/{prompt}/command", page(prompts.as_command)),
    Route("/live", page(home.live)),
    Route("/palette", page(palette.show)),
    Route("/pane", page(pane.show)),
    Route("/projects", page(projects.show)),
    Route("/spend", page(spend.show)),
    Route("/spend/budget", page(spend.set_budget), methods=["POST"]),
    Route("/stats", page(stats_front.show)),
    Route("/stats/{report}", page(stats.report)),
    Route("/files", page(file_pages.show)),
    Route("/settings", page(settings.show)),
    Route("/settings/sync", page(settings_sync.show)),
    Route("/settings/sync", page(settings_sync.act), methods=["POST"]),
    Route("/settings/forgets", page(settings_forgets.act), methods=["POST"]),
    Route("/favicon.ico", lambda _: RedirectResponse("/static/icon.svg")),  # browsers ask for it regardless
    Mount("/api/v1", routes=API),
    Mount("/static", KnownFiles(Path(str(files("backscroll.web") / "static")))),
]
