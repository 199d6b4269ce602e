"""Tests of app.connector.template."""
