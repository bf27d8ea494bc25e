"""Databases as earlier versions left them.

`0001.json` is what version 0.1 wrote: its own services and worker played a small main job, and `dumpdata` took down
every row (passwords left out). Nothing in it is ever written anew: that its hashes still fit is the point.
"""
