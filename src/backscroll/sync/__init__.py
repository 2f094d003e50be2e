"""What travels between machines? Streams, bundles, policy and masks are pure; remotes, push and pull do the I/O."""
