"""Reading of chats: a person's own library with what others share, links, saved prompts, spend, agents."""
