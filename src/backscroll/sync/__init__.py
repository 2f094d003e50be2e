"""Sync between machines: streams, bundles, policy and masks are pure; remotes, push and pull do the I/O."""
