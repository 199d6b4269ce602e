"""HTTP: headers and JSON of every response, CORS, templates, and files."""
