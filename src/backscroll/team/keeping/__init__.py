"""Retention of chats, legal holds, and the erasure of people, with a ledger that outlives the database."""
