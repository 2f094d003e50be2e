"""The web application of the server behind its sign-in check, and the processes that serve it."""
