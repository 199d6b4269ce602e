"""Models bound to a conventional REST resource."""
