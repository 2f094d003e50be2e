"""The HTTP API: the library for programs, under `/api/v1`."""
