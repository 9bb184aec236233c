"""What labellers answer, how fast, and how far they agree."""
