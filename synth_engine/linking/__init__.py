"""Tables of two stewards, linked without sharing: each side publishes a noisy sketch, and both are estimated
together.

`agreement` is what both sides agree on before anything is read, `hashing` says into which bucket a record
falls, `sketch` is the plan of one side and what leaves its room, `estimate` reads two sketches, and `drawing`
gives the ids of synthetic tables.
"""
