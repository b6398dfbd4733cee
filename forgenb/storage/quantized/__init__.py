"""Matrices in 4 bits a number: how numbers become codes, and the safetensors files that hold them.

docs/quantisation.md has the layout byte by byte. Nothing here knows models or runs; nothing may be imported here.
"""
