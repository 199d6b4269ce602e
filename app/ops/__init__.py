"""Operations: response headers, request ids, health, CORS, logs, throttles, the audit log."""
