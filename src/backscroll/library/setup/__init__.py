"""Is everything installed, and does it work?"""
