"""The routes, by subject."""

from levelled.web.routes import creating, events, health, labelling, managing, pages, reading

__all__ = ["ROUTERS"]

ROUTERS = [one.router for one in (health, managing, labelling, reading, creating, events, pages)]
