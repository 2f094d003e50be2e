"""What do earlier chats say about a question or an error, within a token budget?"""
