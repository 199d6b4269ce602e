"""Tests of app.connector.request."""
