"""Break things on purpose, and see that no answer is wrong afterwards: what `scripts/bench faults` runs."""
