"""The comparison of a synthetic table with the real one: distances, reports, figures. Pure
functions of tallies."""
