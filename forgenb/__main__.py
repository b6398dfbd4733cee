"""``python -m forgenb``: the same program as ``forgenb``."""

from forgenb.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
