"""Is everything installed, and is it well?"""
