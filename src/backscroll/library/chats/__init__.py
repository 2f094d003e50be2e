"""What is in one chat, and how is it read piece by piece?"""
