"""Example settings of an instance: copy to config.py and edit. Every setting has a default."""

# The base URL of links in mails.
# PUBLIC_URL = "https://ostiary.example.com"

# SQLALCHEMY_DATABASE_URI = "postgresql+psycopg://ostiary:secret@db.example.com/ostiary"

# MAIL_URL = "smtp://user:password@mail.example.com:587?starttls=1"
# MAIL_FROM = "Ostiary <no-reply@example.com>"

# The number of proxies that set X-Forwarded-For, -Proto, -Host and -Prefix.
# TRUSTED_PROXIES = 1

# Store the token in a cookie, and accept /users/me for the current user.
# TOKEN_MIDDLEWARE = {"cookies": ["access_token"], "currentUserLiteral": "me"}
