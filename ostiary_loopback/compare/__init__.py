"""Comparing the responses of a LoopBack 3 service and of Ostiary to the same reading calls."""
