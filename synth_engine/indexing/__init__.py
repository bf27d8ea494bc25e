"""Where a record lies: the cell of a contingency table, the node of a tree, the place, the commute. Pure
functions of public descriptions and of the codes that they are given; nothing here holds or reads records."""
