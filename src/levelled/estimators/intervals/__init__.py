"""Intervals for the pool risk and for ratios of pool means."""
