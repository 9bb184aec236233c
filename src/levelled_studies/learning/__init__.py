"""Studies of training with and without corrective weights on real data."""
