"""The house stands as ARCHITECTURE.md and the packages' docstrings draw it: imports point down, pure rooms are pure."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "backscroll"


def drawn_map() -> dict[str, set[str]]:
    """What each package imports besides the foundation, as the table in ARCHITECTURE.md says."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", text, re.MULTILINE)
    return {name: {part.strip() for part in column.split(",")} - {"–"} for name, column in rows}


def drawn_rooms(package: str) -> dict[str, set[str]]:
    """The rooms of a package and what each imports of the others, as the package's docstring says."""
    text = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    rows = re.findall(r"^    (\w+)(?: \(([\w,\s]+)\))?:\s", text, re.MULTILINE)
    return {room: set(column.replace(",", " ").split()) for room, column in rows}


IMPORTS: Final = drawn_map()
WITHIN_FOUNDATION: Final[dict[str, set[str]]] = {
    "errors": set(),
    "settings": {"disk", "errors"},
    "system": set(),
    "disk": {"errors", "system"},
}
"""What the packages that all others may import, import of one another."""
FOUNDATION: Final = set(WITHIN_FOUNDATION)
ROOMS: Final = {package: drawn_rooms(package) for package in ("library", "store", "team", "web", "render")}
"""What the parts of the larger packages may import of one another: only what stands above them here."""
PURE = {"records", "conversation", "pricing", "query", "redaction", "render"}
IMPURE_MODULES = {"os", "pathlib", "time", "subprocess", "socket", "tempfile", "shutil", "random", "threading"}
IMPURE_FUNCTIONS = {"open", "print", "input"}
IMPURE_METHODS = {"now", "today", "utcnow", "open", "read_text", "write_text", "read_bytes", "write_bytes"}


ONE_SYSTEM_ONLY = {
    "os": {
        "fork", "kill", "killpg", "geteuid", "getuid", "getgid", "fchmod", "fchown", "statvfs", "mkfifo", "nice",
        "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC",
    },
    "signal": {"SIGHUP", "SIGKILL", "SIGTSTP", "SIGUSR1", "SIGALRM", "SIGWINCH"},
}  # fmt: skip
ONE_SYSTEM_MODULES = {"fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "msvcrt", "winreg"}
WITHOUT_OUR_PACKAGES = {"store/local/sql_worker.py"}
"""Started by its path, with the standard library alone."""


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(module)))


@pytest.fixture(autouse=True, scope="module")
def _parse_each_module_once() -> Iterator[None]:
    yield
    parsed.cache_clear()  # they are large
    nodes.cache_clear()


@pytest.mark.slow  # the first to parse every module
def test_what_only_some_systems_have_is_in_one_module() -> None:
    found = []
    for module in SOURCE.rglob("*.py"):
        name = module.relative_to(SOURCE).as_posix()
        if name == "system.py" or name in WITHOUT_OUR_PACKAGES:
            continue
        for node in nodes(module):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = {node.module or ""} if isinstance(node, ast.ImportFrom) else {one.name for one in node.names}
                found += [f"{name}: {one}" for one in named & ONE_SYSTEM_MODULES]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.attr in ONE_SYSTEM_ONLY.get(node.value.id, ()):
                    found.append(f"{name}: {node.value.id}.{node.attr}")
            elif isinstance(node, ast.keyword) and node.arg in ("start_new_session", "preexec_fn"):
                found.append(f"{name}: {node.arg}")
    assert not found, "put it into backscroll.system, with what other systems do instead"


def packages() -> list[str]:
    entries = (path for path in SOURCE.iterdir() if not path.name.startswith(("_", "py.typed")))
    return sorted(path.stem for path in entries)


def modules(package: str) -> list[Path]:
    file = SOURCE / f"{package}.py"
    return [file] if file.exists() else sorted((SOURCE / package).rglob("*.py"))


def imports(module: Path) -> Iterator[str]:
    """Every module that is imported anywhere in this one, also inside functions."""
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute here"
            yield node.module or ""


def test_every_package_is_on_the_map() -> None:
    assert packages() == sorted(IMPORTS)


@pytest.mark.parametrize("package", sorted(IMPORTS))
def test_imports_point_down(package: str) -> None:
    allowed = IMPORTS[package] | {package} | WITHIN_FOUNDATION.get(package, FOUNDATION)
    for module in modules(package):
        for name in imports(module):
            if name.startswith("backscroll."):
                assert name.split(".")[1] in allowed, f"{module.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("door", ["api", "web", "mcp", "demo", "render", "cli"])
def test_a_door_asks_the_library_and_not_its_store(door: str) -> None:
    for module in modules(door):
        for node in nodes(module):
            is_store = isinstance(node, ast.Attribute) and node.attr == "store"
            assert not is_store, f"{module.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


ENGINES = {"apsw", "sqlite3", "tantivy", "psycopg"}
STATEMENT = re.compile(r"\s*(?:select|insert|update|delete|with|pragma)\b.*\b(?:from|into|set|pragma)\b", re.DOTALL)
OWNERS = {
    "LocalStore": {"store/local", "library/local.py"},
    "rows.sqlite": {"store/local", "cli/statusline_text.py"},
    "catalogue.jsonl": {"archive"},
    # Who may ask about all homes: the indexer, the checkup, `sql`, and what decides which homes a library shows.
    "EVERYTHING": {
        "store",
        "library/indexing/words.py",
        "library/indexing/moves.py",
        "library/indexing/update.py",
        "library/library.py",
        "library/scope.py",
        "library/setup/checkup.py",
    },
}
"""Names of classes, files and scopes, and who may know them."""
STORES = ("store/local/", "store/postgres/", "store/sql/", "store/search/")
TEAM_TABLES = "team/"
"""The server's own tables: who there is, and who may read what."""
SYNC_STATE = ("sync/state.py", "sync/stored_objects.py", "sync/received_proof.py", "sync/gaps.py")
"""It is not an index: a small file that says what a remote has."""
NOTED_PROJECTS = "library/syncing/noted_projects.py"
"""Not an index either: a small file that says where sessions ran, and which git remotes were seen there."""
STATUS_LINE = "cli/statusline_text.py"
"""The documented exception: it has no time to open a store."""
EARLY_CLIENTS = {"files/early_database.py", "files/early_tables.py"}
"""They read a database that is not ours."""


def texts(module: Path) -> Iterator[ast.Constant]:
    """Every string of a module that is not a docstring."""
    alone = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    for node in nodes(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node


def test_sql_and_engines_are_known_to_the_stores_only() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        if not where.startswith((*STORES, TEAM_TABLES)):
            found |= {where for text in texts(path) if STATEMENT.match(str(text.value))}
            found |= {where for name in imports(path) if name.split(".")[0] in ENGINES}
    assert found == {STATUS_LINE, *SYNC_STATE, NOTED_PROJECTS, *EARLY_CLIENTS}


def test_a_name_is_known_to_its_owners_only() -> None:
    found: dict[str, set[str]] = {name: set() for name in OWNERS}
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        named = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
        written = [str(text.value) for text in texts(path)]
        for name, owners in OWNERS.items():
            if name in named or any(name in text for text in written):
                found[name] |= {owner for owner in owners if where.startswith(owner)} or {where}
    assert found == OWNERS


def room_of(package: str, module: Path) -> str:
    relative = module.relative_to(SOURCE / package)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def room_imports(package: str, module: Path) -> Iterator[str]:
    """The other rooms of its package that a module needs when it runs."""
    rooms = {room_of(package, path) for path in modules(package)}
    only_types = {
        id(inner)
        for node in nodes(module)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and id(node) not in only_types:
            for name in (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)):
                parts = name.split(".")
                if parts[:2] == ["backscroll", package] and len(parts) > 2 and parts[2] in rooms:
                    yield parts[2]


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_every_room_imports_what_its_row_says(package: str) -> None:
    found: dict[str, set[str]] = {}
    for module in modules(package):
        room = room_of(package, module)
        if room != "__init__":
            found.setdefault(room, set()).update(set(room_imports(package, module)) - {room})
    assert found == ROOMS[package]


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_no_room_imports_one_listed_below_it(package: str) -> None:
    above: set[str] = set()
    for room, imported in ROOMS[package].items():
        assert imported <= above, f"{package}.{room}"
        above.add(room)


@pytest.mark.parametrize("package", sorted(PURE))
def test_a_pure_room_touches_no_disk_and_no_clock(package: str) -> None:
    for module in modules(package):
        for name in imports(module):
            assert name.split(".")[0] not in IMPURE_MODULES, f"{module.relative_to(ROOT)} imports {name}"
            assert name != "backscroll.disk", f"{module.relative_to(ROOT)} imports {name}"
        for node in nodes(module):
            if isinstance(node, ast.Call):
                where = f"{module.relative_to(ROOT)}:{node.lineno}"
                if isinstance(node.func, ast.Name):
                    assert node.func.id not in IMPURE_FUNCTIONS, f"{where} calls {node.func.id}"
                elif isinstance(node.func, ast.Attribute):
                    assert node.func.attr not in IMPURE_METHODS, f"{where} calls {node.func.attr}"


RE_EXPORTING = {"", "api", "library"}
"""The packages that may offer names of other modules: the Python API, and what the library hands to the doors."""


def test_names_are_imported_from_the_module_that_defines_them() -> None:
    for path in SOURCE.rglob("__init__.py"):
        package = ".".join(path.parent.relative_to(SOURCE).parts)
        imported = [name for name in imports(path) if name.startswith("backscroll.")]
        defines = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in parsed(path).body)
        if package not in RE_EXPORTING and not defines:
            assert not imported, f"{package} re-exports: a command that imports one of its modules would load them all"


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
    assert len(lengths) > 300


PUBLIC_FACES = {"api", "web/api/answers.py"}
"""Where a class may have the name of the idea that it shows to users: `Chat`, `Message`, `Library`."""


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        if not any(where == face or where.startswith(f"{face}/") for face in PUBLIC_FACES):
            for node in parsed(path).body:
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(where)
    double = {name: where for name, where in homes.items() if len(where) > 1}
    assert double == {}


def test_every_test_that_holds_an_invariant_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|bench)/[\w/]+\.py)`", text))
    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
