"""Operations: what the people who run the service need."""
