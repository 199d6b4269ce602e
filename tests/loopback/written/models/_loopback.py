"""Nothing is left here: the role of borrowers is in `tool.py`."""
