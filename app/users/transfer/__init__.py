"""Import and export of users in CSV files."""
