"""Ostiary: users, access tokens, access rules, models as REST endpoints, and a REST connector.

Imports nothing, so that `app.connector` can be used without Flask. Read `factory.py` first.
"""
