"""The generator of homes: see `bench.generate`, its door."""
