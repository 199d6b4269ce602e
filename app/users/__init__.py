"""Users: registration, login, access tokens and password reset."""
