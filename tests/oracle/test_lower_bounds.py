"""Sums with an answer whose final output count is not known say `≥`, and two of them have no difference."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.library.support import Shelf
from tests.support.command import run_command
from tests.web.served import ask, serving

SESSION: Final = "00000000-0000-4000-8000-00000000000{}"
MODEL: Final = "claude-sonnet-4-5-20250929"


def lay(root: Path, *, is_final: bool) -> None:
    """Two months with an answer of 1,000 tokens in each."""
    for month in (1, 2):
        base: dict[str, Any] = {"sessionId": SESSION.format(month), "cwd": "/srv/shop", "version": "2.1.42"}
        base |= {"timestamp": f"2026-0{month}-05T10:00:00.000Z", "isSidechain": False, "userType": "external"}
        usage = {"input_tokens": 1000, "output_tokens": 1000 * month}
        message: dict[str, Any] = {"id": f"m{month}", "role": "assistant", "model": MODEL, "usage": usage}
        message |= {"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn" if is_final else None}
        asked = {"type": "user", "uuid": f"a{month}", "parentUuid": None, "message": {"role": "user", "content": "hi"}}
        said = {"type": "assistant", "uuid": f"b{month}", "parentUuid": f"a{month}", "message": message}
        path = root / "home" / "projects" / "-srv-shop" / f"{SESSION.format(month)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(base | row) + "\n" for row in (asked, said)))


@pytest.mark.parametrize("is_final", [True, False])
def test_lower_bounds_say_so_and_are_not_compared(is_final: bool, tmp_path: Path) -> None:
    lay(tmp_path, is_final=is_final)
    environment = {
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(tmp_path / "home"), "TZ": "UTC",
        "BACKSCROLL_LIBRARY": str(tmp_path / "library"), "BACKSCROLL_SETTINGS": str(tmp_path / "settings.toml"),
    }  # fmt: skip

    def shown(*arguments: str) -> str:
        done = run_command(*arguments, environment=environment)
        assert done.returncode == 0, done.stderr
        return re.sub(" +", " ", str(done.stdout))

    least = "" if is_final else "≥ "
    usage = shown("stats", "usage", "--by", "month")
    assert f"2026-02 1 1,000 {least}2,000 0 0 {least}$0.03" in usage
    assert f"total 2 2,000 {least}3,000 0 0 {least}$0.05" in usage
    overview = shown("stats")
    assert f"Tokens {least}5,000: 2,000 input, {least}3,000 output" in overview
    assert f"Cost {least}$0.05 for 2 answers" in overview
    compared = shown("stats", "compare", "2026-01", "2026-02")
    change = "+1,000 +100.0 %" if is_final else "- -"
    assert f"output tokens {least}1,000 {least}2,000 {change}" in compared
    assert "input tokens 1,000 1,000 0 +0.0 %" in compared
    spent = run_command("stats", "spend", "--since", "2026-02-01", "--until", "2026-02-28", environment=environment)
    told = "$0.03, $0.01 more (+83 %) than in the period before ($0.02)" if is_final else (
        "≥ $0.03; ≥ $0.02 in the period before; lower bounds are not compared"
    )  # fmt: skip
    assert told in spent.stdout + spent.stderr
    by_model = shown("stats", "spend", "--since", "2026-02-01", "--until", "2026-02-28", "--by", "model")
    assert f"{MODEL} {least}$0.03 {least}$0.02 {'$0.01' if is_final else '-'} 100.0 %" in by_model
    rows = json.loads(shown("stats", "usage", "--by", "month", "--json"))["rows"]
    assert [row["placeholders"] for row in rows] == ([0, 0] if is_final else [1, 1])
    export = ("export", SESSION.format(2), "--format", "html", "--out", str(tmp_path / "chat.html"))
    shown(*export)
    with serving(Shelf(tmp_path)) as served:
        chat = ask(served, f"/chats/{SESSION.format(2)}").body.decode()
        page = ask(served, "/stats/usage?by=month").body.decode()
        spend = ask(served, "/spend?since=2026-02-01&until=2026-02-28").body.decode()
        both = ask(served, "/stats/compare?a=2026-01&b=2026-02").body.decode()
    assert (f">{least}2,000<" in page, f">{least}$0.03<" in page) == (True, True)
    for whole in (chat, (tmp_path / "chat.html").read_text()):
        opened = whole[whole.index('class="chat-head') :]  # behind the list of chats
        assert re.findall(r">((?:≥ )?\$0\.03)<", opened) == [f"{least}$0.03"] * 2  # in its head and in the outline
    assert f">{least}2,000<" in both
    assert f'class="amount">{least}$0.03<' in spend
    assert ("+83 %" in spend) == is_final
    assert ("+100.0 %" in both) == is_final
