"""A recorded computation to step through in a browser: what was noted while it ran, and a page of it.

The page is one file that asks for nothing else: `page.html` with `explorer.css` and `explorer.js` in it. It may import
pictures and tensors; which ops there are is not known here.
"""
