"""The explorer: a page to browse the API and try it."""
