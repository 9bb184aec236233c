"""The routes, by subject."""

from levelled.web.routes import creating, labelling, managing, pages, reading

__all__ = ["ROUTERS"]

ROUTERS = [one.router for one in (managing, labelling, reading, creating, pages)]
