"""How is a chat given to others without its secrets?"""
