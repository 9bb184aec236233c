"""Figures of a campaign: estimates, comparisons, gates, diagnoses and exports of settled draws."""
