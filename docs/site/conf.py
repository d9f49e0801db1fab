# SPDX-License-Identifier: MIT
"""Sphinx's configuration of the site. make_site.py gives the version and the directory of the assets."""
import os

from docutils import nodes

project = 'side'
author = 'the side developers'
project_copyright = 'the side developers, MIT licence'
release = version = os.environ['SIDE_DOCS_VERSION']

extensions = ['myst_parser']
myst_enable_extensions = ['deflist']
myst_heading_anchors = 4
# Blocks without a language are not guessed: most are output of commands.
highlight_language = 'none'
suppress_warnings = ['misc.highlighting_failure', 'myst.header']

html_theme = 'furo'
html_title = 'side %s' % version
html_static_path = [os.path.dirname(os.path.abspath(__file__)) + '/style.css']
html_css_files = ['style.css']
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# A summary is read by fetch(), which browsers forbid on pages that are files.
html_show_search_summary = False
html_theme_options = {
    'navigation_with_keys': True,
    'light_css_variables': {'color-brand-primary': '#1c5d99', 'color-brand-content': '#1c5d99'},
    'dark_css_variables': {'color-brand-primary': '#7db8f0', 'color-brand-content': '#7db8f0'},
}
pygments_style = 'friendly'
pygments_dark_style = 'native'


def mark_terminals(_, tree):
    """Blocks of commands with a prompt are terminal sessions."""
    for block in list(tree.traverse(nodes.literal_block)):
        if block.astext().startswith('$ ') and block.get('language', 'none') in ('none', 'default'):
            block['language'] = 'console'


def setup(app):
    app.connect('doctree-read', mark_terminals)
