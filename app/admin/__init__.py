"""The administration of a service: the page, and the calls behind it."""
