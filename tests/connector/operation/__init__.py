"""Tests of app.connector.operation."""
