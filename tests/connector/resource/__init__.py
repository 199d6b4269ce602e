"""Tests of app.connector.bound_model."""
