"""Texts of an application on one line: in a terminal, a comment or a docstring."""


def printable(text: str) -> str:
    """Return a text on one line, without characters that control a terminal or end a line."""
    return "".join(character if character.isprintable() else " " for character in text)
