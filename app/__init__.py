"""Ostiary: users, access tokens, to-dos and an outbound REST connector.

Imports nothing, so that `app.connector` can be used without Flask. Read `factory.py` first.
"""
