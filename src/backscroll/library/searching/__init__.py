"""Which passages answer a query, and which piece of text shows why?"""
