"""Our gunicorn worker: it buffers requests until they are complete, and answers errors in JSON."""
