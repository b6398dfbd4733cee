"""Files that are read with care and written whole: opening, JSON, safetensors, and values that are all finite.

Its modules know formats, and nothing of models or runs; those who do import the module that they need. Nothing may be
imported here.
"""
