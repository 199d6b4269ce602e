"""The settings of a data source: schemas, options and their layers, adaptation, loading."""
