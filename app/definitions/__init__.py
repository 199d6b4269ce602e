"""Models in JSON: each file of a folder, in LoopBack 3's form, is a model with its endpoints."""
