"""Tests of app.connector.http."""
