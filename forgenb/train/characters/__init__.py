"""The runs of ``forgenb train``: a GPT of characters, its choices, its text, its folder and its checkpoints.

Imports all other parts of `forgenb.train`; they may take no more from here than the sizes of a model.
"""
