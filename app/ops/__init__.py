"""Operations: response headers and request ids."""
