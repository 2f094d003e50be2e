"""The pages. Each is a function that takes a request and returns HTML."""
