"""Requests made from the OpenAPI description never fail inside the server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from levelled.web.routes import ROUTERS
from web.conftest import Site, write_pool

schemathesis = pytest.importorskip("schemathesis")

OPERATIONS = sorted(
    (path, method)
    for router in ROUTERS
    for route in router.routes
    if getattr(route, "include_in_schema", False)
    for path in [getattr(route, "path", "")]
    for method in getattr(route, "methods", ())
)
EXAMPLES = 25
DOCS = Path(__file__).parents[2] / "docs/serve.md"


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_route_is_documented(path: str, method: str) -> None:
    assert f"`{method} {path}`" in DOCS.read_text()


@pytest.fixture
def studio(make_site: Callable[..., Site], tmp_path: Path) -> Site:
    (tmp_path / "uploads").mkdir()
    write_pool(tmp_path / "run.parquet", 50)
    site = make_site(uploads=tmp_path / "uploads", file=tmp_path / "run.parquet")
    site.ask(5)
    site.tell(1, "ham")
    return site


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_no_request_fails_inside_the_server(studio: Site, path: str, method: str) -> None:
    app: Any = studio.client.app
    schema = schemathesis.openapi.from_dict(app.openapi())
    operation = schema[path][method]

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate],
    )
    def send(case: Any) -> None:  # noqa: ANN401
        for name in ("ann", "eve"):
            for real in (False, True):
                _send(studio, case, name, real=real)

    send()
    failures = [line for line in studio.log.getvalue().splitlines() if '"event": "error"' in line]
    assert failures == []


def _send(site: Site, case: Any, name: str, *, real: bool) -> None:  # noqa: ANN401
    """Send a request, with the name of a campaign that is there if it is `real`."""
    if real and "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = "spam"
    if real and isinstance(case.body, dict) and "file" in case.body:
        case.body["file"] = "run.parquet"
    given = case.as_transport_kwargs(base_url="http://testserver")
    given = {key: given.get(key) for key in ("method", "url", "params", "headers", "json", "data")}
    content = given.pop("data")
    if isinstance(content, str | bytes):
        given["content"] = content
    given["headers"] = {**dict(given["headers"] or {}), **site.headers(name)}
    try:
        reply = site.client.request(**given)
    except (UnicodeError, ValueError, TypeError):
        return  # what cannot be sent
    assert reply.status_code < 500, (given, reply.text)
