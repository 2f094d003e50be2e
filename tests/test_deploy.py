"""The files in deploy/: what they call exists, what they prepare is what the code needs, no secret has a default."""

import json
import re
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest
import yaml

from backscroll.cli.server import command
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.prepare import EXTENSIONS
from backscroll.store.postgres.roles import OWNER, READER, SHARED_READER, SQL_LOGIN, WEB
from backscroll.store.postgres.sql_login import EXPOSED, preparation
from backscroll.team.serving.app import ROUTES
from tests.support.examples import ROOT
from tests.support.postgres import postgres
from tests.test_examples import parse

__all__ = ["postgres"]

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "backscroll"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.name != ".env")
TEXTS = {path.relative_to(DEPLOY).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
CALL = re.compile(r'\["server", "[^\]]*\]')


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(TEXTS["compose.yaml"])
    return loaded


def variables() -> set[str]:
    """What `backscroll server` and its parts read from the environment."""
    parts = [command, *(command.get_command(click.Context(command), name) for name in ("web", "worker", "migrate"))]
    options = [parameter for part in parts if part is not None for parameter in part.params]
    named = {str(option.envvar) for option in options if option.envvar}
    return named | {"BACKSCROLL_OIDC_SECRET", "BACKSCROLL_SQL_PASSWORD"}


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if CALL.search(text)])
def test_commands_and_options_exist(name: str) -> None:
    for arguments in map(json.loads, CALL.findall(TEXTS[name])):
        assert arguments[1] in {"web", "worker", "migrate"}
        parse(" ".join(arguments), arguments)


def test_web_worker_and_migrate_are_all_started() -> None:
    parts = {"web", "worker", "migrate"}
    services = compose()["services"]
    assert {name: services[name]["command"][:2] for name in parts} == {name: ["server", name] for name in parts}
    chart = "".join(text for name, text in TEXTS.items() if name.startswith("helm/"))
    assert {json.loads(call)[1] for call in CALL.findall(chart)} == parts


def test_variables_exist() -> None:
    named = {found for text in TEXTS.values() for found in re.findall(r"\bBACKSCROLL_[A-Z_]*[A-Z]\b", text)}
    assert {"BACKSCROLL_DATA", "BACKSCROLL_DATABASE", "BACKSCROLL_OBJECTS", "BACKSCROLL_URL"} <= named
    assert named <= variables()


def test_probes_ask_for_what_the_server_answers() -> None:
    paths = {route.path for route in ROUTES if hasattr(route, "path")}
    probed = set(re.findall(r"\bpath: (/\w+)", TEXTS["helm/backscroll/templates/deployment.yaml"]))
    assert {"/healthz", "/readyz"} == probed <= paths
    assert "'/healthz'" in TEXTS["Dockerfile"]


def test_only_web_connects_as_the_role_with_fewer_rights() -> None:
    services = compose()["services"]
    for name in ("web", "worker", "migrate"):
        role, variable = (WEB, "WEB_PASSWORD") if name == "web" else (OWNER, "DATABASE_PASSWORD")
        given = services[name]["environment"]
        assert given["BACKSCROLL_DATABASE"] == f"postgresql://{role}@database/backscroll"
        assert (
            given["PGPASSWORD"] == f"${{{variable}:?see .env.example}}" == services["database"]["environment"][variable]
        )
        assert f"\n{variable}=\n" in TEXTS[".env.example"]
    assert services["web"]["environment"]["BACKSCROLL_SQL_PASSWORD"] == "${SQL_PASSWORD:?see .env.example}"
    assert not any("BACKSCROLL_SQL_PASSWORD" in services[name]["environment"] for name in ("worker", "migrate"))
    pod = TEXTS["helm/backscroll/templates/deployment.yaml"]
    web, _, worker = pod.partition("- name: worker")
    owner = 'include "backscroll.owner"'
    for part, is_web in ((web, True), (worker, False), (TEXTS["helm/backscroll/templates/migrate.yaml"], False)):
        assert (owner not in part, ".database.webAddress" in part, ".passwordSecret.webKey" in part) == (is_web,) * 3
        assert (".passwordSecret.sqlKey" in part) == is_web


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_nothing_runs_as_root_and_no_secret_is_written_down(name: str) -> None:
    text = TEXTS[name]
    assert not re.search(r"(?im)^\s*-?\s*(USER|user:|runAsUser:|runAsGroup:)\s*['\"]?(root|0)\b", text)
    assert not re.search(r"privileged: *true|docker\.sock|hostPath", text)
    given = re.findall(r"(?m)^\s*#?\s*([A-Z_]*(?:PASSWORD|SECRET|KEY|KEY_ID))\s*[:=][ \t]*(\S.*)$", text)
    for variable, value in given:
        assert re.fullmatch(r"\$\{[A-Z_]+(:\?see \.env\.example|:-)\}", value), f"{variable} has a value"
    assert not re.search(r"postgresql://[^\s@/]+:[^\s@/]+@", text)


def test_the_image_ends_with_another_user_and_a_health_check() -> None:
    last = TEXTS["Dockerfile"].rpartition("\nFROM ")[2]
    assert re.findall(r"(?m)^USER (.+)$", last) == ["10001:10001"]
    assert "HEALTHCHECK" in last
    assert "ARG" not in TEXTS["Dockerfile"]
    copied = re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", TEXTS["Dockerfile"])
    names = {name for line in copied for name in line.split()}
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    assert names == allowed
    assert all((ROOT / name).exists() for name in names)


def test_every_container_is_confined() -> None:
    for name, service in compose()["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "healthcheck" in service or name == "web", name  # that one has the image's
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
    helpers = TEXTS["helm/backscroll/templates/_helpers.tpl"]
    for line in (
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "drop: [ALL]",
    ):
        assert line in helpers


def test_the_database_is_prepared_as_the_server_prepares_its_own() -> None:
    script = TEXTS["postgres/prepare.sql"]
    for role in (OWNER, WEB, READER, SHARED_READER):
        assert re.search(rf"create role {role} \w+ nosuperuser nobypassrls nocreatedb nocreaterole", script)
    assert set(re.findall(r"create extension if not exists (\w+);", script)) == set(EXTENSIONS)
    assert preparation() in script


def test_the_login_for_sql_may_use_nothing_in_a_prepared_database(postgres: EmbeddedPostgres) -> None:
    inside = TEXTS["postgres/prepare.sql"].partition("\\connect backscroll")[2].partition("\\if ")[0].encode()
    with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute("create database prepared template template0")
        with psycopg.connect(postgres.url(SUPERUSER, "prepared"), autocommit=True) as prepared:
            prepared.execute(inside)
            assert prepared.execute(EXPOSED.encode()).fetchall() == []
            prepared.execute(inside)  # it can be run again
            for role, may in ((SQL_LOGIN, False), (READER, False), (OWNER, True), (WEB, True), ("pg_monitor", True)):
                for function in ("pg_advisory_lock(bigint)", "pg_logical_emit_message(boolean, text, text, boolean)"):
                    right = prepared.execute("select has_function_privilege(%s, %s, 'execute')", (role, function))
                    assert right.fetchone() == (may,), (role, function)
        connection.execute("drop database prepared with (force)")


def test_values_of_the_chart_are_used_and_exist() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    templates = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(CHART, "templates").iterdir()))
    for path in set(re.findall(r"\.Values\.([\w.]+)", templates)):
        place = values
        for part in path.split("."):
            assert part in place, f"values.yaml lacks {path}"
            place = place[part]
    for name in values:
        assert f".Values.{name}" in templates, f"no template reads {name}"
    assert yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["name"] == "backscroll"
