"""Intervals for the pool risk."""
