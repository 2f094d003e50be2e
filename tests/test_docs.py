"""The documents are true: every command and option is described, links lead somewhere, the locks agree."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from backscroll.cli.main import COMMANDS, backscroll
from backscroll.errors import BackscrollError
from tests.support.examples import PAGES, ROOT, blocks
from tests.support.reference import FILE, reference


def test_the_reference_of_commands_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == reference(), "run ./scripts/write-reference"
    assert "\\b" not in reference(), "a raw docstring: click reads a backspace, not a backslash and a b"


def test_every_command_and_option_is_described() -> None:
    page = FILE.read_text(encoding="utf-8")
    context = click.Context(backscroll, info_name="backscroll")
    for name in COMMANDS:
        command = backscroll.get_command(context, name)
        assert command is not None
        assert f"## `backscroll {name}`" in page
        assert command.help, f"{name} has no help"
        assert "Examples:" in command.help, f"{name} has no examples"
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts} has no help"
                assert parameter.opts[-1] in page


def test_every_command_names_itself_as_in_the_table() -> None:
    context = click.Context(backscroll)
    for name in COMMANDS:
        command = backscroll.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_every_exit_code_and_kind_of_error_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    kinds: list[type[BackscrollError]] = [BackscrollError, *BackscrollError.__subclasses__()]
    for kind in kinds:
        assert f"| {kind.exit_code} | `{kind.kind}` |" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) + re.findall(r'\b(?:src|srcset)="([^"]+)"', text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_pictures_are_small_and_each_is_shown_somewhere() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = [path for path in (ROOT / "docs" / "pictures").iterdir() if path.is_file()]
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size <= 200_000, picture.name
        assert f"pictures/{picture.name}" in text, f"no page shows {picture.name}"
        if picture.suffix == ".svg":  # it loads nothing, and runs nothing
            assert not re.search(r"url\((?!#)|@import|href=|<script|<image", picture.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_scripts_in_the_documents_exist(page: Path) -> None:
    """What commands there are in the documents is checked in test_examples."""
    for _, block in blocks(page.read_text(encoding="utf-8")):
        for script in re.findall(r"^(?:\$ )?\./(scripts/[\w-]+)", block, re.MULTILINE):
            assert (ROOT / script).is_file(), script


@pytest.mark.parametrize("purpose", ["run", "test"])
def test_what_pip_installs_is_what_is_locked(purpose: str) -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    versions = {package["name"]: package["version"] for package in lock["package"] if "version" in package}
    listed = re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements" / f"{purpose}.txt").read_text(), re.MULTILINE)
    assert len(listed) > 5
    assert [(name, version) for name, version in listed if versions[name] != version] == [], "run ./scripts/lock"


def test_every_dependency_is_in_the_list_that_pip_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {re.match(r"[\w-]+", name)[0] for name in project["project"]["dependencies"]}  # type: ignore[index]
    listed = set(re.findall(r"^([\w-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE))
    assert wanted <= listed, "run ./scripts/lock"
