"""The fields of the marshmallow schemas of models."""
