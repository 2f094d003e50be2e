"""The entry point. The status line and hooks bypass click, whose import alone would take most of their time."""

import os
import sys


def main() -> None:
    """Run the command, and exit."""
    _open_closed_streams()
    if sys.argv[1:] == ["statusline"]:
        _write_status()
    elif sys.argv[1:2] == ["hook"]:
        from backscroll.cli.hook import run_hook

        run_hook(sys.argv[2:])
    else:
        from backscroll.cli.main import main as run

        run()


def _open_closed_streams() -> None:
    """Point the standard streams that the caller closed at the null device.

    Hooks, cron and daemons may close them. The next file that is opened, a database perhaps, would otherwise take the
    number of a closed one, and what a library or a child process writes there would end up in it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _write_status() -> None:
    """Run `backscroll statusline` without options; whatever goes wrong, it prints a line and no error."""
    from backscroll.cli.statusline_text import answer_to, from_stdin, line, without_index
    from backscroll.errors import BackscrollError
    from backscroll.settings import load_settings

    data = from_stdin()
    try:
        answer = answer_to(data, load_settings())
    except (BackscrollError, OSError):
        answer = without_index(data)
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.stdout.write(line(answer) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    main()
