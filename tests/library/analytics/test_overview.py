"""The overview agrees with the reports that it is made of."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.keeping.keep import keep
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, session_path

NOW = datetime(2026, 1, 20, 12, 0, tzinfo=UTC)
SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: no rule
d <- c assistant(m2): done
"""


def test_it_agrees_with_its_reports(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    with shelf.open() as library:
        found = overview(library, ReportRequest(zone=UTC), NOW)
        assert found["usage"] == usage(library, ReportRequest(zone=UTC), "model").facts["total"]
        assert found["activity"]["prompts"] > 10
    assert len(found["last_days"]) == 30
    assert found["last_days"][-1]["day"] == "2026-01-20"


def test_tools_and_days_of_a_small_home(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(SHOP))})
    shelf.update()
    with shelf.open() as library:
        found = overview(library, ReportRequest(zone=UTC), NOW)
    assert found["tools"] == [{"tool": "Bash", "calls": 1, "failed": 1}]
    assert [day["day"] for day in found["last_days"] if day["prompts"]] == ["2026-01-05"]


def test_what_is_about_to_be_deleted_is_kept_or_not(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(SHOP))})
    path = shelf.home / session_path("S1")
    old = (datetime.now(UTC) - timedelta(days=27)).timestamp()
    with shelf.open() as library:
        library.update()
        keep(library.settings, library.homes)
        os.utime(path, (old, old))
        found = overview(library, ReportRequest(zone=UTC), datetime.now(UTC))["deletion"]
        assert (found["due"], found["kept"], found["not_kept"]) == (1, 1, 0)
        path.write_bytes(path.read_bytes() + jsonl(draw("e <- d user: more")))
        os.utime(path, (old, old))
        found = overview(library, ReportRequest(zone=UTC), datetime.now(UTC))["deletion"]
        assert (found["due"], found["kept"], found["not_kept"]) == (1, 0, 1)
