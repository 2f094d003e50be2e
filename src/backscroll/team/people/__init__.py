"""People and their rights: accounts, roles, teams, sign-in, single sign-on, keys, limits.

Functions over the tables, in the transaction of a request. They do not open a library.
"""
