"""Filters in the form of LoopBack 3: `where`, `order`, `fields`, `include`, `limit` and `skip`."""
