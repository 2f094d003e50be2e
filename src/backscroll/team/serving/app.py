"""The application of the server: its own pages, the routes for devices, and the viewer for what each person may see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from backscroll.disk import private_folder
from backscroll.errors import BackscrollError
from backscroll.files.source_key import owner_of
from backscroll.httpd.guard import Access, Guard
from backscroll.httpd.listening import LOOPBACK_NAMES
from backscroll.render.html.element import Html
from backscroll.sync.remotes import Folder
from backscroll.team.arrival.connect_routes import ROUTES as CONNECT
from backscroll.team.arrival.device_routes import DeviceOf, DeviceRoutes, Spend, Stored, UnknownDeviceError
from backscroll.team.arrival.devices import note_upload
from backscroll.team.arrival.project_rules import StoredRules
from backscroll.team.arrival.recovery_routes import ROUTES as RECOVERY
from backscroll.team.database.connections import is_current
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.erasures import JOB as ERASE
from backscroll.team.keeping.erasures import to_be_erased
from backscroll.team.operating.metrics import metrics
from backscroll.team.operating.request_log import RequestLog, WriteLine
from backscroll.team.pages import (
    account,
    audit_page,
    devices_page,
    erasing_page,
    links_page,
    operating_pages,
    people_page,
    projects_page,
    recovery_page,
    retention_page,
    sharing,
    sign_in_pages,
    single_sign_on,
    spend_page,
)
from backscroll.team.pages.parts import links_for
from backscroll.team.pages.requests import see, team_page
from backscroll.team.people.context import TeamContext
from backscroll.team.people.limits import Allowance, allowance_of
from backscroll.team.people.rates import count
from backscroll.team.reading.read_access import ReadAccess
from backscroll.team.reading.remote_mcp import MCP, ForAgents, session_manager
from backscroll.team.reading.viewer_pool import ViewerPool
from backscroll.team.serving.authentication import Authentication
from backscroll.web.api.errors import HANDLERS
from backscroll.web.api.routes import ROUTES as API
from backscroll.web.app import ROUTES as VIEWER
from backscroll.web.pages import home
from backscroll.web.refusals import refuse
from backscroll.web.requests import PageRequest, page

UPLOADS: Final = "/sync/v1/objects"


def make_team_app(
    context: TeamContext,
    viewers: ViewerPool,
    names: frozenset[str] = LOOPBACK_NAMES,
    log: WriteLine | None = None,
) -> Guard:
    """Make the application behind its guard. `viewers` have what each person may see; `names` are those of the host.

    `log` is called with a line for each request.
    """
    devices = DeviceRoutes(
        context.objects, _device_of(context), _stored(context), _spend(context), rules=StoredRules(context.database),
        temporary=_temporary(context, viewers),
    )  # fmt: skip
    sync = Mount("/sync/v1", routes=[*CONNECT, *RECOVERY, *devices.routes])
    agents = session_manager(context, viewers.libraries)
    mcp = Route(MCP, ForAgents(agents))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with agents.run():
            yield

    app = Starlette(routes=[sync, mcp, *ROUTES, *VIEWER_ROUTES], exception_handlers=HANDLERS, lifespan=lifespan)
    app.state.team, app.state.viewers = context, viewers
    authenticated = Authentication(app, context, links_for, ReadAccess(context, viewers))
    is_public = urlsplit(context.url).hostname not in {name.strip("[]") for name in names}
    access = Access(
        names=names,
        public_url=context.url if context.is_secure or is_public else "",
        for_programs=("/sync/v1/", MCP),
        for_uploads=(UPLOADS,),
        for_documents=("/shared-link/",),
    )
    return Guard(RequestLog(authenticated, log) if log else authenticated, access, refuse)


def _temporary(context: TeamContext, viewers: ViewerPool) -> str:
    """Return the folder for unfinished uploads: on the disk of the objects, or else on that of the archives."""
    if not isinstance(context.objects, Folder):
        return viewers.libraries.temporary
    private_folder(context.objects.root)
    return str(context.objects.root)


def _device_of(context: TeamContext) -> DeviceOf:
    def find(credential: str) -> Allowance | None:
        with context.database.connection() as connection:
            return allowance_of(connection, credential)

    return find


def _spend(context: TeamContext) -> Spend:
    def count_bytes(allowed: Allowance, unpacked: int) -> None:
        with context.database.connection() as connection:
            count(connection, allowed.uses(unpacked))

    return count_bytes


def _stored(context: TeamContext) -> Stored:
    def note(device: str, sent: int, unpacked: int) -> None:
        with context.database.connection() as connection:
            is_known = note_upload(connection, device, sent, unpacked)
        if not is_known:
            with context.database.transaction() as connection:
                owner = owner_of(device)
                if owner in to_be_erased(connection):  # it was on its way: what was just stored is removed, too
                    enqueue(connection, ERASE, owner)
            raise UnknownDeviceError

    return note


def first_page(request: PageRequest) -> Html | Response:
    """The viewer's home page; for a person who has sent nothing yet, the page that says how to connect a machine."""
    library = request.library
    if not library.is_indexed or not library.totals().chats:
        return see("/devices")
    return home.show(request)


async def healthz(_: Request) -> Response:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


async def readyz(request: Request) -> Response:
    """Whether requests can be answered: the database is there, and its tables are those of this version."""
    context: TeamContext = request.app.state.team
    try:
        is_ready = await run_in_threadpool(is_current, context.database)
    except BackscrollError:
        is_ready = False
    if is_ready:
        return PlainTextResponse("ready\n")
    return PlainTextResponse("not ready\n", HTTPStatus.SERVICE_UNAVAILABLE)


ROUTES: Final[list[BaseRoute]] = [
    Route("/", page(first_page)),
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/sign-in", team_page(sign_in_pages.sign_in), methods=["GET", "POST"]),
    Route("/sign-out", team_page(sign_in_pages.sign_out), methods=["POST"]),
    Route("/welcome", team_page(sign_in_pages.welcome), methods=["GET", "POST"]),
    Route("/recovery", team_page(recovery_page.show)),
    Route("/oidc/start", team_page(single_sign_on.start, single_sign_on.before_start)),
    Route("/oidc/callback", team_page(single_sign_on.callback, single_sign_on.before_callback)),
    Route("/connect", team_page(sign_in_pages.connect), methods=["GET", "POST"]),
    Route("/account", team_page(account.show)),
    Route("/account/provider", team_page(account.connect_provider), methods=["POST"]),
    Route("/account/password", team_page(account.change_own_password), methods=["POST"]),
    Route("/account/recoveries/{recovery}", team_page(recovery_page.answer), methods=["POST"]),
    Route("/account/spend", team_page(account.change_named), methods=["POST"]),
    Route("/account/keys", team_page(account.make_key), methods=["POST"]),
    Route("/account/keys/{key}/revoke", team_page(account.end_key), methods=["POST"]),
    Route("/devices", team_page(devices_page.show)),
    Route("/devices/{device}/revoke", team_page(devices_page.revoke), methods=["POST"]),
    Route("/devices/{device}/undo", team_page(devices_page.undo), methods=["POST"]),
    Route("/people", team_page(people_page.show)),
    Route("/people", team_page(people_page.invite_person), methods=["POST"]),
    Route("/people/{handle}/invite", team_page(people_page.new_link), methods=["POST"]),
    Route("/people/{handle}/disable", team_page(people_page.disable_person), methods=["POST"]),
    Route("/people/{handle}/role", team_page(people_page.change_role_of), methods=["POST"]),
    Route("/recoveries/{recovery}/approve", team_page(people_page.approve_recovery), methods=["POST"]),
    Route("/teams", team_page(people_page.add_team), methods=["POST"]),
    Route("/teams/{team}", team_page(people_page.change_team), methods=["POST"]),
    Route("/organisation", team_page(people_page.rename_organisation), methods=["POST"]),
    Route("/team-spend", team_page(spend_page.show)),
    Route("/team-spend/budget", team_page(spend_page.change_budget), methods=["POST"]),
    Route("/team-spend/rule", team_page(spend_page.change_rule), methods=["POST"]),
    Route("/jobs", team_page(operating_pages.jobs)),
    Route("/jobs/{job}/now", team_page(operating_pages.try_now), methods=["POST"]),
    Route("/storage", team_page(operating_pages.storage)),
    Route("/storage/limits", team_page(operating_pages.change_limits), methods=["POST"]),
    Route("/storage/quota", team_page(operating_pages.change_quota), methods=["POST"]),
    Route("/sign-in-test", team_page(operating_pages.sign_in_test, operating_pages.before_sign_in_test)),
    Route("/sign-in-test/passwords", team_page(operating_pages.change_passwords), methods=["POST"]),
    Route("/project-rules", team_page(projects_page.show)),
    Route("/project-rules", team_page(projects_page.add), methods=["POST"]),
    Route("/project-rules/masking", team_page(projects_page.change_masking), methods=["POST"]),
    Route("/project-rules/{project_rule}/remove", team_page(projects_page.remove), methods=["POST"]),
    Route("/audit", team_page(audit_page.show)),
    Route("/retention", team_page(erasing_page.show)),
    Route("/retention", team_page(retention_page.set_days), methods=["POST"]),
    Route("/retention/{rule}/remove", team_page(retention_page.remove), methods=["POST"]),
    Route("/erasures", team_page(erasing_page.confirm)),
    Route("/erasures", team_page(erasing_page.erase), methods=["POST"]),
    Route("/holds", team_page(erasing_page.hold), methods=["POST"]),
    Route("/holds/{hold}/release", team_page(erasing_page.release), methods=["POST"]),
    Route("/shared", team_page(sharing.shared)),
    Route("/readers", team_page(sharing.readers)),
    Route("/chats/{chat}/audience", team_page(sharing.audience), methods=["GET", "POST"]),
    Route("/shares/{share}/include", team_page(sharing.include), methods=["POST"]),
    Route("/shares/{share}/include-joined", team_page(sharing.include_all), methods=["POST"]),
    Route("/shares/{share}/revoke", team_page(sharing.revoke), methods=["POST"]),
    Route("/chats/{chat}/links", team_page(sharing.make_link), methods=["POST"]),
    Route("/links/{link}/revoke", team_page(links_page.revoke), methods=["POST"]),
    Route("/shared-link/{secret}", team_page(links_page.follow)),
]
FOR_A_TEAM: Final = frozenset(
    "/chats /chats/{chat} /chats/{chat}/chunks/{number} /chats/{chat}/context /chats/{chat}/warm /chats/{chat}/side"
    " /chats/{chat}/changes /chats/{chat}/find /chats/{chat}/agents/{agent} /chats/{chat}/agents/{agent}/messages"
    " /chats/{chat}/whole/{call:path} /chats/{chat}/rows/{row:path} /chats/{chat}/pictures/{row:path}/{number}"
    " /chats/{chat}/compare /chats/{chat}/markdown /chats/{chat}/messages/{message:path}/markdown /chats/{chat}/export"
    " /chats/{chat}/share /chats/{chat}/share/masks /chats/{chat}/marks /search /searches /live /palette /pane"
    " /prompts /prompts.json /prompts/{prompt} /prompts/{prompt}/command /chats/{chat}/messages/{message:path}/prompt"
    " /projects /spend /spend/budget /stats /stats/{report} /files /favicon.ico /static".split()
)
"""The routes of the viewer that a server has. A new one is not among them until it is clear that it shows only what the
library of the request has; what is about the machine that the viewer runs on never is."""
API_FOR_A_TEAM: Final = frozenset(
    "/chats /chats/{id} /chats/{id}/messages /chats/{id}/branches /chats/{id}/compare /chats/{id}/agents /search"
    " /stats/{report} /projects /events /openapi.json".split()
)
VIEWER_ROUTES: Final[list[BaseRoute]] = [
    Route("/", page(first_page)),
    *(route for route in VIEWER if getattr(route, "path", "") in FOR_A_TEAM),
    Mount("/api/v1", routes=[route for route in API if route.path in API_FOR_A_TEAM]),
]
