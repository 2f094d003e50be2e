"""Sample conversations to try backscroll on: unpacked into a folder of their own, which is removed afterwards.

`sample` unpacks the conversations that come with the package, `dates` moves them so that the newest was yesterday;
`sandbox` is the folder that they live in while a command runs, with a home, a library and settings of its own, and
removes it however the command ends; `live` plays one session into it. `player` writes sessions as Claude Code does;
the benchmarks play their generated homes with it, too.
"""
