"""The templates of the pages, in which all that is filled in is escaped."""

from pathlib import Path

from starlette.templating import Jinja2Templates

TEMPLATES = Jinja2Templates(directory=Path(__file__).parent / "templates")
