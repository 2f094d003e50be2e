CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    day TEXT NOT NULL,
    account TEXT NOT NULL,
    text TEXT NOT NULL,
    amount REAL NOT NULL
);
