"""Pictures of a tape: short words for arrays, places for boxes, and SVG text. No other program is needed.

It may import tensors, how they are shown, and storage; of a tape it knows only what it is handed. No op may be named.
"""
