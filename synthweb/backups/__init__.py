"""One encrypted file that holds all of an installation: database, tables, answers and keys, together."""
