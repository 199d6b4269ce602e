"""The administration of a service: the calls behind its page."""
