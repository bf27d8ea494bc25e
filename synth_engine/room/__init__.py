"""The room: the only place where rows of a sensitive table are parsed, held or counted.

What leaves it: noisy answers of a session, the steward's own reading (suggestions and a preview), and tallies
that are handed over marked *not private*. Only `synth_engine.pipeline` imports it.
"""
