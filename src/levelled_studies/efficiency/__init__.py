"""How many labels each method saves, on real and synthetic pools, against peers and the limit."""
