"""What an operator observes: log lines, the origin of work, and health."""
