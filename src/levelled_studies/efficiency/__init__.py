"""The benchmark of label efficiency on real and synthetic pools, against peers and the limit."""
