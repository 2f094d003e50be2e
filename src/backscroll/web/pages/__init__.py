"""The pages. Each is a function that is asked and gives HTML."""
