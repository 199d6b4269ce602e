"""Walking through pages: link, next, page, offset, cursor, and not for ever."""

from __future__ import annotations

import pytest

from app.connector import BlockedHostError, PaginationError

ROWS = list(range(1, 8))


@pytest.fixture
def listing(server, connect):
    """Serve seven rows and return an operation that reads them as `paginate` says."""

    def rows(handler):
        query = handler.query
        size = int(query.get("limit", query.get("size", 3)))
        start = int(query.get("cursor") or query.get("offset") or 0)
        start = (int(query["page"]) - 1) * size if "page" in query else start
        after = start + size
        more = after < len(ROWS)
        link = f'</rows?cursor={after}>; rel="next", </rows>; rel="first"' if more else ""
        handler.reply(
            {
                "rows": ROWS[start:after],
                "next": f"/rows?cursor={after}" if more else None,
                "cursor": str(after) if more else "",
            },
            headers={"Link": link} if link else {},
        )

    def make(paginate, **template):
        server.routes["rows"] = rows
        template = {"url": "/rows", "responsePath": "$.rows", "paginate": paginate, **template}
        return connect([{"template": template, "functions": {"rows": []}}]).rows

    return make


KINDS = [
    ({"type": "link"}, 3),
    ({"type": "next", "path": "$.next"}, 3),
    ({"type": "cursor", "path": "$.cursor"}, 3),
    ({"type": "cursor", "path": "$.cursor", "limit": 2}, 4),
    ({"type": "page", "limit": 4}, 2),
    ({"type": "page"}, 3),
    ({"type": "page", "limit": 3, "limitParam": "size"}, 3),
    ({"type": "offset"}, 3),
    ({"type": "offset", "limit": 5, "param": "offset", "start": 0}, 2),
]


@pytest.mark.parametrize(("paginate", "pages"), KINDS)
def test_every_page_is_read(listing, paginate, pages):
    operation = listing(paginate)

    assert list(operation.items()) == ROWS
    assert len(list(operation.pages())) == pages


def test_plain_call_reads_one_page(listing):
    assert listing({"type": "link"})() == [1, 2, 3]


def test_pages_are_read_when_asked_for(listing, server):
    pages = listing({"type": "link"}).pages()
    next(pages)

    assert server.hits["/rows"] == 1


def test_first_page_that_is_empty_is_given_and_ends_it(listing):
    assert list(listing({"type": "offset", "start": 90}).pages()) == [[]]


def test_items_of_a_page_may_lie_elsewhere_than_the_result(listing):
    paginate = {"type": "page", "items": "$.rows", "limit": 3}

    pages = list(listing(paginate, responsePath="$").pages())

    assert [page["rows"] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]


def test_page_that_is_no_list_is_an_error(listing):
    with pytest.raises(PaginationError, match=r"must be a list, got an object; .*paginate\.items"):
        list(listing({"type": "page"}, responsePath="$").pages())


def test_page_that_is_empty_ends_a_list(listing, server):
    operation = listing({"type": "page"})
    server.routes["rows"] = lambda handler: handler.reply(b"")

    assert list(operation.pages()) == [None]


def test_operation_without_pagination_has_one_page(connect):
    source = connect(
        [
            {"template": {"url": "/echo", "responsePath": "$.method"}, "functions": {"f": []}},
            {"template": {"url": "/status/204"}, "functions": {"none": []}},
        ]
    )

    assert list(source.f.pages()) == [["GET"]]
    assert list(source.f.items()) == ["GET"]
    assert list(source.none.items()) == []


@pytest.mark.parametrize(
    "paginate",
    [
        {"type": "page"},
        {"type": "offset", "limit": 3},
        {"type": "cursor", "path": "$.cursor"},
        {"type": "next", "path": "$.next"},
        {"type": "link"},
    ],
)
def test_page_that_repeats_is_an_error(listing, server, paginate):
    operation = listing(paginate)
    server.routes["rows"] = lambda handler: handler.reply(
        {"rows": [1, 2, 3], "cursor": "same", "next": "/rows?same"},
        headers={"Link": '</rows?same>; rel="next"'},
    )

    with pytest.raises(
        PaginationError, match=r"same page was received twice|next page was already read"
    ):
        list(operation.items())

    assert server.hits["/rows"] <= 2


def test_too_many_pages_are_an_error(listing):
    pages = listing({"type": "link", "maxPages": 2}).pages()

    assert [next(pages), next(pages)] == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(PaginationError, match="more than 2 pages"):
        next(pages)


def test_next_page_on_another_host_is_blocked(listing, server, other_server):
    operation = listing({"type": "next", "path": "$.next"})
    server.routes["rows"] = lambda h: h.reply({"rows": [1], "next": other_server.url + "/rows"})

    with pytest.raises(BlockedHostError):
        list(operation.pages())

    assert other_server.seen == []


def test_next_page_on_another_allowed_host_gets_no_credentials(connect, server, other_server):
    server.routes["rows"] = lambda h: h.reply({"next": other_server.url + "/echo"})
    source = connect(
        [
            {
                "template": {"url": "/rows", "paginate": {"type": "next", "path": "$.next"}},
                "functions": {"rows": []},
            }
        ],
        options={"auth": {"bearer": "mine"}, "allowedHosts": ["127.0.0.1"]},
    )

    list(source.rows.pages())

    assert "authorization" not in other_server.seen[0]["headers"]


def test_page_answered_by_a_hook_is_the_last(listing, connect, server):
    source = connect(
        [{"template": {"url": "/rows", "paginate": {"type": "link"}}, "functions": {"rows": []}}]
    )
    source.observe("before execute", lambda ctx: ctx.end([1]))

    assert list(source.rows.pages()) == [[1]]


def test_caller_may_change_the_page_it_was_given(listing):
    pages = []
    for page in listing({"type": "offset"}).pages():
        pages.append(list(page))
        page.clear()

    assert [row for page in pages for row in page] == ROWS
