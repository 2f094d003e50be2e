from pathlib import Path

import pytest

from tests.demo.support import DemoMachine


@pytest.fixture
def machine(tmp_path: Path) -> DemoMachine:
    return DemoMachine(tmp_path)
