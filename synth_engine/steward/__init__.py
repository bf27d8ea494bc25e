"""What a data steward sees of the real table: suggestions for its description, a preview, exact counts. None
of it is private, and none of it reaches anybody else."""
