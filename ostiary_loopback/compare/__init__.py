"""The same reading calls to a LoopBack 3 service and to Ostiary, and how their answers differ."""
