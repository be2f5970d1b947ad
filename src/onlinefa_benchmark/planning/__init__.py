"""Plans: which cells a run would fit now, why, and how long that takes."""
