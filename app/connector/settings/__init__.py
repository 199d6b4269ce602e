"""The settings of a data source: what is allowed, and what it means."""
