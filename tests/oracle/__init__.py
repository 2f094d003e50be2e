"""Checks that share no code with what they check: recounts of session files in plain `json`."""
