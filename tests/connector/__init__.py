"""The tests of the connector: they need neither Flask nor a database."""
