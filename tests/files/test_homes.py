from pathlib import Path

import pytest

from backscroll.files.homes import Home, find_homes


def test_the_home_is_where_the_client_looks(tmp_path: Path) -> None:
    assert find_homes(environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}) == [Home(tmp_path / "config")]


@pytest.mark.parametrize("environment", [{}, {"CLAUDE_CONFIG_DIR": ""}])
def test_without_a_setting_it_is_the_folder_of_the_user(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_homes(environment=environment) == [Home(tmp_path / ".claude")]


def test_homes_that_are_named_are_the_only_ones_in_their_order(tmp_path: Path) -> None:
    named = [tmp_path / "b", tmp_path / "a"]
    assert find_homes(named, {"CLAUDE_CONFIG_DIR": "/elsewhere"}) == [Home(path) for path in named]


def test_a_home_named_twice_is_one_home_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    named = [tmp_path / "link", tmp_path / "x" / ".." / "real", Path("~/real"), Path("real")]
    assert find_homes(named) == [Home(tmp_path / "real")]


def test_a_home_exists_once_it_has_projects(tmp_path: Path) -> None:
    assert not Home(tmp_path).exists
    (tmp_path / "projects").mkdir()
    assert Home(tmp_path).exists
    assert not Home(tmp_path / "nowhere").exists


def test_a_user_who_does_not_exist_is_no_reason_to_fail() -> None:
    (home,) = find_homes([Path("~nobody-of-that-name/.claude")])
    assert not home.exists
