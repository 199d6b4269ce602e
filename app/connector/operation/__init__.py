"""Operations: templates that can be called like functions."""
