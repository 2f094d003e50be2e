"""Saved prompts: texts that the user keeps to use again.

`prompt` has the type of a saved prompt, and `PromptCollection`, the interface of a place that keeps prompts; `template`
has the variables; `prompt_file` is that place on one machine (`team.prompts` on a server); `command_uses` counts runs
of slash commands in the chats. `chats/typed_prompts` reads the text of a prompt, `setup/slash_commands` writes it for
Claude Code.
"""
