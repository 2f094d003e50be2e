"""The notebook in the documents runs, cell by cell, on the sample conversations."""

import importlib.util
import json
from datetime import UTC, datetime
from typing import Any

import pytest

import backscroll
from backscroll.demo.sandbox import open_sandbox
from tests.support.examples import ROOT


def test_every_cell_of_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    names: dict[str, Any] = {}
    with open_sandbox(datetime.now(UTC)) as room:
        for name, value in room.environment.items():
            monkeypatch.setenv(name, value)
        for cell in cells:
            assert cell["outputs"] == [], "a notebook is kept without its outputs: they would be of one machine"
            if "pandas" in cell["metadata"].get("tags", ()) and importlib.util.find_spec("pandas") is None:
                continue
            exec(compile(cell["source"], "notebook.ipynb", "exec"), names)
        with backscroll.open() as library:
            messages = library.chat(names["longest"].id).messages()
            assert messages._repr_html_().count("<tr>") > 1
            with pytest.raises(backscroll.UsageError, match="no report nothing"):
                library.stats("nothing")
    assert len(names["spent"]) >= 3
    assert names["passages"] and names["passages"].to_dicts()[0]["chat"]
