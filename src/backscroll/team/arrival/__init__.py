"""Arrival of conversations: devices, the objects they send, rules and masks for these, and the libraries they fill.

A library here is that of one person. The room `reading` decides what another person may read of it.
"""
