"""The gunicorn worker: it buffers complete requests, and answers errors in JSON."""
