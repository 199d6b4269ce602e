"""The documentation, and the module that writes its tables."""
