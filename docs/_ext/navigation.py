"""The list of pages beside a page that is not in it itself is made once for each folder.

Making it takes longer than all the rest of a page, and a page that the list does not name (of an op, of a source file)
differs from its neighbours in nothing there: not in what is current, and not in the way to other pages.
"""


def reuse(app, pagename, templatename, context, doctree):
    """Wrap what makes the list, before the theme asks for it."""
    listed = any(pagename in pages for pages in app.env.toctree_includes.values())
    if listed or "toctree" not in context:
        return
    make, made = context["toctree"], app.env.temp_data.setdefault("navigation", {})

    def toctree(**options):
        place = pagename.rpartition("/")[0], *sorted(options.items())
        if place not in made:
            made[place] = make(**options)
        return made[place]

    context["toctree"] = toctree


def setup(app):
    app.connect("html-page-context", reuse, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
