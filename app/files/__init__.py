"""Files of rows: properties of the type `file`, whose bytes are in a store."""
