"""HTTP: headers of every response, CORS, JSON, and the languages of clients."""
