"""Clients of a service in other languages, made from its OpenAPI document."""
