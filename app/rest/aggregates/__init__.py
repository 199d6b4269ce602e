"""Aggregates: counts, sums, averages and extremes of rows, by groups."""
