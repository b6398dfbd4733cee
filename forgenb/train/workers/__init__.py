"""A batch that is shared out: over streams of this process, and a whole run of it.

Imports `forgenb.train.steps`; several processes are `forgenb.train.distributed`, which takes its shares from here.
"""
