"""What a training keeps in files, and how it is read with care: parameters, states, metrics and their folder.

Imports reports, and of `forgenb.train.characters` the sizes of a model; nothing that trains may be imported here.
"""
