"""Parts that every HTTP server here shares: listening, access control and connection limits. It has no routes of its
own.

`guard` is the wall around every route of a door, `keys` its keys, `users` whether others use this machine; `listening`
is where a door listens, `connections` how many may come and for how long, `server` how uvicorn runs.
"""
