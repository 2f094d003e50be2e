"""The pages of the server itself: signing in, devices, people, keys, audit."""
