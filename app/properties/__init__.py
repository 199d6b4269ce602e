"""Properties in the form of LoopBack 3: types, validations and defaults."""
