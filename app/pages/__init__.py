"""What the pages of the service share: their look, the client of the API, and Preact."""
