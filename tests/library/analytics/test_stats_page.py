"""Every column of every report is described in docs/reference/stats.md, and every door groups reports the same way."""

import importlib
import re
from datetime import UTC, datetime

import click
import pytest

import backscroll
from backscroll.demo.sandbox import open_sandbox
from backscroll.errors import UsageError
from backscroll.library.analytics.report_kinds import KINDS
from tests.support.examples import ROOT


def test_every_column_of_every_report_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "reference" / "stats.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    assert sections.keys() == {*KINDS, "compare"}
    missing = []
    with open_sandbox(datetime.now(UTC)) as room:
        for name, value in room.environment.items():
            monkeypatch.setenv(name, value)
        with backscroll.open() as library:
            for report, kind in KINDS.items():
                described = set(re.findall(r"`([\w-]+)`", sections[report]))
                if report == "activity":
                    described |= {f"{hour:02}" for hour in range(24)}
                for by in kind.by or [""]:
                    try:
                        columns = library.stats(report, by=by).columns
                    except UsageError:  # a report that needs one chat
                        columns = library.stats(report, by=by, query=f"chat:{library.chats()[0].id}").columns
                    missing += [f"{report} --by {by}: {column}" for column in columns if column not in described]
    assert not missing


def test_the_command_line_groups_reports_as_every_other_door_does() -> None:
    for report, kind in KINDS.items():
        command: click.Command = importlib.import_module(f"backscroll.cli.stats.{report}").command
        choices = {one.name: one for one in command.params if isinstance(one.type, click.Choice)}
        option = choices.get("by") or choices.get("sort")
        if option is None:
            assert not kind.by, report
            continue
        assert isinstance(option.type, click.Choice)
        # `stats usage --by blocks` is another report, as in ccusage.
        assert [name for name in option.type.choices if name != "blocks"] == list(kind.by), report
        assert option.default == kind.usual, report
