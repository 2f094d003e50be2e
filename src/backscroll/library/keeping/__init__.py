"""What is kept of the homes, is it whole, and how does it come back?"""
