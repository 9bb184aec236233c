"""The log of a campaign: its events, the state folded from them, and the rules of each step."""
