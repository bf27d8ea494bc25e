"""What goes over the wire: fields listed one by one, so that nothing leaves because a model grew a column."""
