"""The team server: what many people push, who may read it, and what they see."""
