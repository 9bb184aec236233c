"""The pages, which get their data by the REST interface, and the images of items."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, HTMLResponse

from levelled.campaigns.options import GROUPS, OPTIONS
from levelled.web.files import IMAGES
from levelled.web.routes.shared import Analyst, AnyVisitor, Named
from levelled.web.templating import TEMPLATES

router = APIRouter(include_in_schema=False)


@router.get("/")
def campaigns(request: Request, visitor: AnyVisitor) -> HTMLResponse:
    """The list of campaigns."""
    return _page(request, "campaigns.html", visitor=visitor)


@router.get("/new")
def create(request: Request, visitor: Analyst) -> HTMLResponse:
    """Create a campaign from a file."""
    return _page(
        request,
        "create.html",
        visitor=visitor,
        takes_uploads=request.app.state.settings.uploads is not None,
        groups=GROUPS,
        options=[one for one in OPTIONS.values() if one.on_page],
    )


@router.get("/c/{name}")
def analyst(request: Request, campaign: Named, visitor: Analyst) -> HTMLResponse:
    """The figures of a campaign."""
    return _page(request, "analyst.html", visitor=visitor, name=campaign.name)


@router.get("/c/{name}/label")
def label(request: Request, campaign: Named, visitor: AnyVisitor) -> HTMLResponse:
    """Label the items of a campaign."""
    return _page(request, "label.html", visitor=visitor, name=campaign.name)


@router.get("/images/{path:path}")
def image(request: Request, visitor: AnyVisitor, path: str) -> FileResponse:
    """An image below the declared folder."""
    del visitor
    found = request.app.state.files.image(path)
    return FileResponse(found, media_type=IMAGES[found.suffix.lower()])


def _page(request: Request, template: str, **context: Any) -> HTMLResponse:  # noqa: ANN401
    context |= {"root": request.app.state.settings.root_path}
    return TEMPLATES.TemplateResponse(request, template, context)
