"""Tests of the advice, and the samples they share."""
