"""The mathematics of privacy loss: units, events, composition, conversion, receipts.

Knows no rows, no domain and no mechanism. Every amount is an exact rational; where a transcendental
function is needed, it is bounded from the safe side. `synth_engine.verifier` recomputes all of it and
imports nothing from here.
"""
