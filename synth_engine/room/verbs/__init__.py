"""The verbs of the room, one module for each: what may be asked, what it costs, what is counted, how noise is
added.

A verb sees public facts alone and returns a `Question`; the session charges it before it calls the count.
"""
