"""What must be read into the store, and how does it get there?"""
