"""The threads that compute password hashes, and the limits on requests waiting for them."""
