"""The API explorer: a page to browse and try the API."""
