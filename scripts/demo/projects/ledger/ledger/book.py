"""Enter amounts, and add them up."""

import sqlite3


def enter(db: sqlite3.Connection, day: str, account: str, text: str, amount: float) -> None:
    db.execute("INSERT INTO entries (day, account, text, amount) VALUES (?, ?, ?, ?)", (day, account, text, amount))


def balance(db: sqlite3.Connection, account: str) -> float:
    return db.execute("SELECT coalesce(sum(amount), 0) FROM entries WHERE account = ?", (account,)).fetchone()[0]


def show(amount: float) -> str:
    return f"{amount:,.2f} €"
