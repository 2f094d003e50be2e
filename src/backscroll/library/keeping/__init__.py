"""What is kept of the homes, is it intact, and how is it restored?"""
