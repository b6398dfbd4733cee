"""The trainer of any model: its loop, the step that it does, and the callbacks that look on.

Imports `forgenb.train.persistence` for its folder; nothing of one kind of model may be imported here.
"""
