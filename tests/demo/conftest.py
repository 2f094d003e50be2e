from pathlib import Path

import pytest

from tests.demo.support import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
