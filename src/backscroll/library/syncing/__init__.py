"""How does a library travel? Its remotes, what may leave, and what a sync does."""
