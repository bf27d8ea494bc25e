"""The commands of the command line (`cli`), a module for each idea: what a command does, and beside it the
part of the parser that it is called by. A command loads only what it needs, reads its files strictly, and
shows no value of a table. Extras import `arguments` and `parts` too.
"""
