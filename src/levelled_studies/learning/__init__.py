"""When does correcting help on real data? Ordinary models, actively drawn labels, fair tests."""
