"""Tests of app.connector.settings."""
