"""Containers and files, as clients of loopback-component-storage know them, on both stores."""

import pytest

from tests.support.answers import refusal

from .conftest import FORM, PNG, form, names_in, part, remains_of, send


def test_containers_are_created_listed_shown_and_deleted(files):
    created = files.call("POST", "", json={"name": "photos"})
    again = files.call("POST", "", json={"name": "photos"})
    listed = files.call("GET", "").json
    shown = files.call("GET", "/photos")
    send(files, ("a.png", PNG, "image/png"))
    deleted = files.call("DELETE", "/photos")

    assert created.json["name"] == "photos"
    assert refusal(again) == (409, "CONTAINER_EXISTS")
    assert [container["name"] for container in listed] == ["photos"]
    assert shown.json["name"] == "photos"
    assert (deleted.status_code, deleted.data) == (204, b"")
    assert refusal(files.call("GET", "/photos")) == (404, "CONTAINER_NOT_FOUND")
    assert refusal(files.call("DELETE", "/photos")) == (404, "CONTAINER_NOT_FOUND")


def test_a_file_is_uploaded_listed_downloaded_and_removed(files):
    files.call("POST", "", json={"name": "photos"})
    uploaded = send(files, ("a b.png", PNG, "image/png"), note="a note")
    [file] = uploaded.json["result"]["files"]["file"]
    file.pop("providerResponse", None)
    [listed] = files.call("GET", "/photos/files").json
    shown = files.call("GET", "/photos/files/a%20b.png").json
    sent = files.call("GET", "/photos/download/a%20b.png")
    removed = files.call("DELETE", "/photos/files/a%20b.png")

    assert file == {
        "container": "photos",
        "name": "a b.png",
        "type": "image/png",
        "field": "file",
        "size": len(PNG),
    }
    assert uploaded.json["result"]["fields"] == {"note": ["a note"]}
    for known in (listed, shown):
        assert (known["container"], known["name"], known["size"]) == (
            "photos",
            "a b.png",
            len(PNG),
        )
    assert sent.data == PNG
    assert sent.content_type == "image/png"
    assert (removed.status_code, removed.data) == (204, b"")
    assert refusal(files.call("GET", "/photos/files/a%20b.png")) == (404, "FILE_NOT_FOUND")
    assert refusal(files.call("GET", "/photos/download/a%20b.png")) == (404, "FILE_NOT_FOUND")
    assert refusal(files.call("DELETE", "/photos/files/a%20b.png")) == (404, "FILE_NOT_FOUND")


def test_an_upload_takes_the_place_of_a_file_of_the_same_name(files):
    files.call("POST", "", json={"name": "photos"})
    send(files, ("a.txt", b"the old one", "text/plain"))
    send(files, ("a.txt", b"new", "text/plain"))

    assert names_in(files) == ["a.txt"]
    assert files.call("GET", "/photos/download/a.txt").data == b"new"


@pytest.mark.parametrize("size", [0, 9 * 1024 * 1024])
def test_files_of_any_size_are_stored_as_they_are(files, size):
    content = (b"\r\n--y" * (size // 5 + 1))[:size]
    files.call("POST", "", json={"name": "photos"})

    assert send(files, ("a.bin", content, "")).status_code == 200
    assert files.call("GET", "/photos/download/a.bin").data == content


def test_a_part_of_a_file_and_one_that_has_not_changed(files):
    files.call("POST", "", json={"name": "photos"})
    send(files, ("a.txt", b"0123456789", "text/plain"))
    path = "/photos/download/a.txt"
    whole = files.call("GET", path)
    part = files.call("GET", path, headers={"Range": "bytes=2-4"})
    beyond = files.call("GET", path, headers={"Range": "bytes=20-"})
    unchanged = files.call("GET", path, headers={"If-None-Match": whole.headers["ETag"]})
    head = files.call("HEAD", path)

    assert (part.status_code, part.data) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    assert beyond.status_code == 416
    assert (unchanged.status_code, unchanged.data) == (304, b"")
    assert (head.headers["Content-Length"], head.data) == ("10", b"")
    assert "Last-Modified" in whole.headers


def test_ranges_are_those_of_rfc_9110(local):
    send(local, ("a.txt", b"0123456789", "text/plain"))

    def get(range_, method="GET"):
        headers = {"Range": range_}
        answer = local.call(method, "/photos/download/a.txt", headers=headers)
        return answer.status_code, answer.data if answer.status_code < 300 else b""

    whole = b"0123456789"
    assert get("bytes=-3") == (206, b"789")
    assert get("bytes=-500") == get(f"bytes=-{'9' * 5000}") == get("bytes=0-") == (206, whole)
    assert get("bytes=-0") == get("bytes=-000") == get("bytes=x") == get("bytes") == (416, b"")
    for ignored in ("lines=1-2", "lines", "bytes=0-1,4-5", "bytes=0-0,-1", ""):
        assert get(ignored) == (200, whole), ignored
    assert get("bytes=2-4", "HEAD") == (200, b"")


def test_without_the_container_there_are_no_files_and_nothing_is_stored(files):
    assert files.call("GET", "/photos/files").json == []
    assert refusal(send(files, ("a.txt", b"a", ""))) == (404, "CONTAINER_NOT_FOUND")
    assert refusal(files.call("GET", "/photos/download/a.txt")) == (404, "FILE_NOT_FOUND")


def test_an_upload_that_is_refused_leaves_nothing(files):
    files.call("POST", "", json={"name": "photos"})
    large = send(files, ("a.txt", b"a", ""), ("b.txt", b"b" * (10 * 1024 * 1024 + 1), ""))
    empty = files.call("POST", "/photos/upload", data=form(part('name="note"')), headers=FORM)
    broken = files.call("POST", "/photos/upload", data=b"--x\r\nbroken", headers=FORM)

    assert refusal(large) == (413, "PAYLOAD_TOO_LARGE")
    assert refusal(empty) == (400, "INVALID_UPLOAD")
    assert refusal(broken) == (400, "INVALID_UPLOAD")
    assert names_in(files) == []
    assert remains_of(files) == [] if files.root.exists() else True


def test_lists_have_pages(files, monkeypatch):
    for module in ("local", "s3"):
        monkeypatch.setattr(f"app.storage.{module}.MAX_LISTED", 2)
    files.call("POST", "", json={"name": "photos"})
    send(files, *((f"{name}.txt", b"", "") for name in "abc"))
    first = files.call("GET", "/photos/files")
    link = first.headers["Link"]

    assert [file["name"] for file in first.json] == ["a.txt", "b.txt"]
    assert link == '</api/containers/photos/files?after=b.txt>; rel="next"'
    after = files.call("GET", "/photos/files?after=b.txt")
    assert [file["name"] for file in after.json] == ["c.txt"]
    assert "Link" not in after.headers
