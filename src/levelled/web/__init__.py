"""The web page and its REST interface: label in the browser, and watch the figure narrow.

    app = make_app(WebSettings("sqlite:///levelled.db"))

Routes hold no arithmetic: they call the functions that the command line calls.
"""

from levelled.web.app import link_to, make_app, serve
from levelled.web.settings import LOOPBACK, WebSettings, link_token

__all__ = ["LOOPBACK", "WebSettings", "link_to", "link_token", "make_app", "serve"]
