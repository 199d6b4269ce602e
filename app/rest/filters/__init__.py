"""Filters in LoopBack 3's form: `where`, `order`, `fields`, `include`, `limit` and `skip`."""
