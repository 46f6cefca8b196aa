"""Grids of experiments: many cells, one tidy table."""
