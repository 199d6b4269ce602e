"""Models in JSON: each file in a folder defines a model with endpoints, in LoopBack 3's form."""
