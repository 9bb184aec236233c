"""Health and readiness, for those who keep the server running."""

from fastapi import APIRouter, Request

from levelled.errors import LevelledError
from levelled.web.replies import Reply, problem

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Reply:
    """The process answers."""
    return Reply({"ok": True})


@router.get("/readyz")
def readyz(request: Request) -> Reply:
    """The storage can be read."""
    try:
        request.app.state.campaigns.store.names()
    except LevelledError:
        return problem(503, "The storage cannot be read.")
    return Reply({"ok": True})
