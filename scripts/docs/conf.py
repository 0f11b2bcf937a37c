"""Sphinx's settings for the documentation site. `make docs` builds it."""

import os

project = "Tandem"
author = copyright = "the Tandem authors"
html_title = "Tandem"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = html_copy_source = False

extensions = ["myst_parser", "breathe"]
myst_heading_anchors = 4  # GitHub's anchors for headings down to ####
myst_enable_extensions = ["attrs_inline", "deflist"]

breathe_projects = {"tandem": os.environ["TANDEM_DOXYGEN_XML"]}
breathe_default_project = "tandem"
breathe_show_include = False
highlight_language = "none"
# Each header adds to the namespace `tandem`, which Breathe declares once for each of them.
suppress_warnings = ["duplicate_declaration.cpp"]
