"""The configuration of Sphinx for the site of the documents."""

project = "Ostiary"
extensions = ["myst_parser"]
# Anchors of headings, as GitHub makes them.
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Ostiary"
html_show_sphinx = False
html_copy_source = False
# Examples in JSON may have comments or an ellipsis.
suppress_warnings = ["misc.highlighting_failure"]
