"""The page about the projects that people send, and the rules about how much of them may be sent."""

from collections.abc import Sequence

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import size
from backscroll.sync.policy import Policy, SyncMode
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.project_rules import (
    ProjectRule,
    mask_arrivals,
    outdated_devices,
    policy_of,
    remotes_of,
    remove_rule,
    rules_of,
    set_rule,
)
from backscroll.team.arrival.sent_projects import NO_PROJECT, ONLY_METRICS, SentProject, sent_projects
from backscroll.team.pages.parts import beside, button, field, moment_text, table, team_document
from backscroll.team.pages.requests import TeamRequest, see
from backscroll.team.people.accounts import people
from backscroll.web.addresses import address

HERE = "/project-rules"
ABOUT = {
    "remote": "Git remote",
    "path": "Folder",
    "project": "Project",
    "all": "Everything else",
}
MEANING = {
    SyncMode.FULL: "full: everything",
    SyncMode.REDACTED: "redacted: everything, with secrets masked",
    SyncMode.METRICS: "metrics: usage, tools and times, no text",
    SyncMode.OFF: "off: nothing",
}

MASKING_ASK = "Mask secrets in everything that arrives? What arrived before is masked too, and stays masked."


def show(request: TeamRequest) -> Html:
    """Show the page, for administrators."""
    person, connection = request.administrator(), request.connection
    rules = rules_of(connection, person.org)
    libraries: Libraries = request.http.app.state.viewers.libraries
    handles = {each.id: each.handle for each in people(connection, person.org)}
    with libraries.sums(handles) as sums:
        projects = sent_projects(sums, handles, remotes_of(connection, person.org))
    policy = policy_of(rules)
    return team_document(
        "Projects and rules", person, HERE,
        el("h2", "Rules"),
        table(("Applies to", "Pattern", "May be sent", "Set by", "Since", ""), map(_rule_row, rules),
              "There are no rules: each person chooses what their machines send."),
        _form(request),
        _outdated(request),
        el("h2", "Secrets"),
        _masking(request),
        el("h2", "Projects"),
        table(("Project", "People", "Sessions", "Size", "Rule", ""), (_project_row(each, policy) for each in projects),
              "No machine has sent anything yet.", numbers=("People", "Sessions", "Size")),
        lead="What machines may send of each project. They fetch these rules and send only what both the rules and"
        " their owner allow. If several rules match, the strictest applies.",
    )  # fmt: skip


def _rule_row(rule: ProjectRule) -> tuple[object, ...]:
    pattern = el("code", rule.pattern) if rule.pattern else el("span", "–", class_="muted")
    ask = "Remove this rule? Machines may then send what their owners allow."
    return (
        el("strong", ABOUT[rule.by]), pattern, rule.mode, rule.made_by, moment_text(rule.made),
        button(f"{HERE}/{rule.id}/remove", "Remove", ask=ask, about=rule.pattern or ABOUT[rule.by]),
    )  # fmt: skip


def _form(request: TeamRequest) -> Html:
    by, mode = request.get("by", "remote"), request.get("mode", "off")
    kinds = [el("option", text, value=kind, selected=True if kind == by else None) for kind, text in ABOUT.items()]
    modes = [
        el("option", text, value=choice, selected=True if choice == mode else None) for choice, text in MEANING.items()
    ]
    return el(
        "form",
        el("label", el("span", "Applies to"), el("select", kinds, name="by"), class_="field"),
        field("Pattern (* matches any text)", "pattern", value=request.get("pattern"),
              placeholder="github.com/acme/*"),
        el("label", el("span", "May be sent"), el("select", modes, name="mode"), class_="field"),
        el("button", "Save the rule"),
        el("p", "A folder includes everything below it. A project is the name of a folder or git repository,"
           " wherever it is. What a stricter rule no longer allows is removed from the server when the machine next"
           " syncs.", class_="muted"),
        method="post", action=HERE, class_="row-form", id="rule",
    )  # fmt: skip


def _outdated(request: TeamRequest) -> Html:
    devices = outdated_devices(request.connection, request.person.org)
    if not devices:
        return NOTHING
    status = {True: "follows older rules", False: "has never fetched the rules"}
    rows = ((el("strong", device.name), moment_text(device.seen), status[device.has_asked]) for device in devices)
    return join(
        [
            el("h3", "Machines that do not follow these rules yet"),
            el("p", "They cannot send anything until they do. A machine that has never fetched the rules may run an"
               " older version of backscroll.", class_="muted"),
            table(("Machine", "Last seen", "Status"), rows, ""),
        ]
    )  # fmt: skip


def _masking(request: TeamRequest) -> Html:
    row = request.connection.execute("select masks_arrivals from org where id = %s", (request.person.org,)).fetchone()
    is_on = bool(row and row[0])
    sentence = (
        "The server masks secrets in everything that arrives, even if a machine sends it in full."
        if is_on
        else "Chats are shown as machines sent them: with secrets masked, unless a person chose to send them in full."
    )
    note = (
        "Masking covers pages, search, exports and agents, and what arrived before. The stored objects stay as they"
        " were sent, because machines use them to prove that everything arrived."
    )
    label = "Stop masking what arrives" if is_on else "Mask secrets in everything that arrives"
    change = button(f"{HERE}/masking", label, ("on", "" if is_on else "1"), ask="" if is_on else MASKING_ASK)
    return join([beside(sentence, change), el("p", note, class_="muted")])


def _project_row(sent: SentProject, policy: Policy) -> Sequence[object]:
    modes = sorted({policy.mode_of(project) for project in sent.projects}, key=lambda mode: -mode.strictness)
    is_named = sent.name not in {NO_PROJECT, ONLY_METRICS}
    kind = "remote" if any(project.remote for project in sent.projects) else "project"
    link = NOTHING
    if is_named:
        link = el("a", "Make a rule", href=f"{address(HERE, by=kind, pattern=sent.name)}#rule",
                  aria_label=f"Make a rule: {sent.name}")  # fmt: skip
    name = el("code", sent.name) if is_named else el("span", sent.name, class_="muted")
    return name, f"{len(sent.people):,}", f"{sent.sessions:,}", size(sent.size), ", ".join(modes), link


def add(request: TeamRequest) -> Response:
    """Make or change a rule."""
    form = request.form
    set_rule(
        request.connection, request.administrator(), form.get("by", ""), form.get("pattern", ""), form.get("mode", "")
    )
    return see(HERE)


def remove(request: TeamRequest) -> Response:
    """Remove a project rule."""
    remove_rule(request.connection, request.administrator(), request.number("project_rule"))
    return see(HERE)


def change_masking(request: TeamRequest) -> Response:
    """Switch the masking of arriving objects on or off."""
    mask_arrivals(request.connection, request.administrator(), is_on=bool(request.form.get("on")))
    return see(HERE)
