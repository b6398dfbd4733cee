"""Pages that are made before Sphinx looks for pages."""


def write_page(path, text):
    """Write a page if it has changed, since one with a new time is read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
