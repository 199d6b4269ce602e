"""What gunicorn does differently for us: it waits for whole requests, and refuses in our shape."""
