"""This machine's settings: copy to config.py and keep what you need. Every one has a default."""

# What links in mails start with.
# PUBLIC_URL = "https://ostiary.example.com"

# SQLALCHEMY_DATABASE_URI = "postgresql+psycopg://ostiary:secret@db.example.com/ostiary"

# MAIL_URL = "smtp://user:password@mail.example.com:587?starttls=1"
# MAIL_FROM = "Ostiary <no-reply@example.com>"

# How many proxies in front set X-Forwarded-For, -Proto, -Host and -Prefix.
# TRUSTED_PROXIES = 1

# Let browsers keep the token in a cookie, and /users/me stand for the caller.
# TOKEN_MIDDLEWARE = {"cookies": ["access_token"], "currentUserLiteral": "me"}
