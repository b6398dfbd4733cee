"""``python -m forgenb``: the same program as ``forgenb``.

Imports the command line and nothing else.
"""

from forgenb.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
