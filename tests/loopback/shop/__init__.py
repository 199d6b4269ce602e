"""A shop with two models of users, customers and staff, which moves from a running LoopBack 3."""
