"""The routes, by subject."""

from levelled.web.routes import labelling, managing, pages, reading

__all__ = ["ROUTERS"]

ROUTERS = [managing.router, labelling.router, reading.router, managing.creating, pages.router]
