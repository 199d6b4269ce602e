"""Tests of app.connector.resource."""
