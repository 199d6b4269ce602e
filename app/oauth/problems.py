"""The error of a provider, or of what it sent."""


class ProviderError(Exception):
    """A provider or its answer made a login fail; says why, for the log, without secrets."""
