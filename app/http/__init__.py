"""HTTP: headers of every response, CORS, JSON, and clients' languages."""
