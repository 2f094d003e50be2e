"""The parts of `bench.team`: a server, devices that push to it, people who read, and what is measured meanwhile."""
