"""Install hooks, plugin and timer, and check whether everything works."""
