"""Files of rows."""
