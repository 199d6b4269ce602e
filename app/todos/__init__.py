"""To-dos: the sample model, private to its owner."""
