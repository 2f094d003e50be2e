import pytest

from tests.faults import crash


@pytest.mark.all
def test_nothing_is_lost_however_often_a_capture_is_killed() -> None:
    """The short form; `python -m tests.faults.crash --kills 500` is the long one."""
    (summary,) = crash.run(kills=40, seed=7, seconds=18)
    assert summary.failures == []
    assert summary.kills >= 10
    assert summary.captures > 0
