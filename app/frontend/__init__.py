"""A front end beside the API: static files from STATIC_FOLDER."""
