"""Tests of the metrics, and the pools they share."""
