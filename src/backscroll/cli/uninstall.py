"""`backscroll uninstall`: remove what `backscroll install` added."""

import click

from backscroll.cli.install import YES, confirm_and_apply
from backscroll.cli.options import current_request, global_options


@click.command("uninstall")
@click.argument("what", type=click.Choice(["hooks", "timer", "claude"]))
@YES
@global_options()
def command(what: str, yes: bool) -> None:
    """Remove the hooks, the timer or the plugin that `backscroll install` added, and nothing else.

    Shows what would change and asks before changing it. The archive and saved recalls stay. Remove a line that you
    added to cron yourself.

    \b
    Examples:
      backscroll uninstall hooks
      backscroll uninstall timer --yes
      backscroll uninstall claude
    """
    from backscroll.library.homes import named_homes
    from backscroll.library.setup.hooks import plan_no_hooks
    from backscroll.library.setup.timers import plan_no_timer

    request = current_request()
    request.refuse_demo("uninstall anything")
    if what == "claude":
        from backscroll.library.setup.plugin import plan_no_plugin

        plan = plan_no_plugin(named_homes(request.settings()), request.settings())
        confirm_and_apply(request, [plan], yes=yes, nothing="the plugin is not installed")
    elif what == "hooks":
        plans = [plan_no_hooks(home) for home in named_homes(request.settings())]
        confirm_and_apply(request, plans, yes=yes, nothing="the hooks are not installed")
    else:
        confirm_and_apply(request, [plan_no_timer()], yes=yes, nothing="the timer is not installed")
