"""Prices by day, and the cost of a request. Pure.

`names` gives all spellings of a model one name; `snapshot` has the prices of genai-prices (`scripts/make-prices`
copies them), `overrides` ours, which win; `Prices` finds the price of a day; `money` computes the cost of a request
at it, in whole nanodollars.
"""
