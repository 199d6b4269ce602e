"""The admin page, and the calls behind it."""
