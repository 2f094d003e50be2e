"""What do earlier chats say to a question or an error, in a given number of tokens?"""
