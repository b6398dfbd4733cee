"""Programs of a training step, from captured tensors: gradients, descent, and where values live.

Imports routines and the tape; nothing of workers, files or loops may be imported here.
"""
