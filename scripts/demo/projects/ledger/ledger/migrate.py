"""Apply the migrations that a ledger has not seen yet, in order."""

import sqlite3
import sys
from pathlib import Path

MIGRATIONS = Path(__file__).parent.parent / "migrations"


def version(db: sqlite3.Connection) -> int:
    return db.execute("PRAGMA user_version").fetchone()[0]


def migrate(db: sqlite3.Connection, upto: int | None = None) -> list[str]:
    applied = []
    for path in sorted(MIGRATIONS.glob("*.sql")):
        number = int(path.name.split("_")[0])
        if number <= version(db) or (upto is not None and number > upto):
            continue
        db.executescript(path.read_text())
        db.execute(f"PRAGMA user_version = {number}")
        applied.append(path.name)
    return applied


if __name__ == "__main__":
    for name in migrate(sqlite3.connect(sys.argv[1])):
        print("applied", name)
