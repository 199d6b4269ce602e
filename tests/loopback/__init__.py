"""A LoopBack 3 application, what it answers, and its move to a project."""
