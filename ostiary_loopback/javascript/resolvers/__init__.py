"""Role resolvers that look for a row of the caller."""
