"""How well a synthetic table stands for the real one: distances, reports, figures. Pure functions of tallies."""
