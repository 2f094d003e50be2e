"""Saved prompts: texts that the user keeps to use again."""
