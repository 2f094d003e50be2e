"""The sample conversations are what the demo needs: whole, small, and about nobody."""

import json
import tarfile
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "src" / "backscroll" / "demo" / "sample.tar.xz"


def test_the_sample_says_what_is_in_it() -> None:
    with tarfile.open(SAMPLE) as tar:
        names = tar.getnames()
        file = tar.extractfile("sample.json")
        assert file
        about = json.load(file)
    assert about["user"] == "/home/ada"
    for path in [*about["deleted"], about["live"]]:
        assert f"home/{path}" in names
