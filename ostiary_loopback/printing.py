"""Texts of an application where they are one line: of a terminal, a comment or a docstring."""


def printable(text: str) -> str:
    """Return a text in one line, without characters that control a terminal or end the line."""
    return "".join(character if character.isprintable() else " " for character in text)
