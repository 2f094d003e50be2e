"""Continue a chat in Claude Code: restore its files, find its folder, and run the command.

`plan` lists the steps to continue a chat, and carries them out; `folders` finds the folder of a project that was moved,
`ran_in` the folders that a session names, `client` the abilities of the installed Claude Code. docs/why/resuming.md has
the reasons.
"""
