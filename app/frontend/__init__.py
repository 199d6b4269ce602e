"""A front end beside the API: the files of STATIC_FOLDER."""
