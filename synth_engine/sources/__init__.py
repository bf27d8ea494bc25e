"""Where the records of a table are: files that are opened and encoded, databases, and where codes are while
they are counted. Nothing here draws noise, charges or keeps an account."""
