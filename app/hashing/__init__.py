"""The threads that compute password hashes, and the requests that may wait for them."""
