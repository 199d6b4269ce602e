"""What clients must not reach by names, types, forms and links, and what races must not break."""

import errno
import os
import threading
from http import HTTPStatus
from io import BytesIO

import pytest

from tests.support.answers import refusal
from tests.support.races import at_once

from .conftest import FORM, PNG, form, names_in, part, remains_of, send

NAMES = [
    *("..%2fsecret.txt", "..%5csecret.txt", "%2e%2e%2fsecret.txt", "a%00.txt", ".hidden"),
    *("C:secret.txt", "a.txt::$DATA", "con", "NUL.txt", "com1.tar.gz", "a.", "a%20", "%20a"),
    *("a%0a.txt", "a%e2%80%ae.txt", f"{'%c3%a9' * 128}", "a%3f", "a%2a", "%ff", "~%2f.."),
]


def file_part(name, *rest, **more):
    return part(f'name="file"; filename="{name}"', *rest, **more)


def test_names_lead_nowhere_else(local):
    (local.root / "secret.txt").write_text("secret")
    (local.root / "photos" / ".hidden").write_text("secret")
    for name in NAMES:
        answers = [
            local.call("GET", f"/photos/download/{name}"),
            local.call("GET", f"/photos/files/{name}"),
            local.call("DELETE", f"/photos/files/{name}"),
            local.call("GET", f"/{name}/files"),
            local.call("DELETE", f"/{name}"),
        ]
        assert {answer.status_code for answer in answers} <= {400, 404, 405}, name
    for name in ("..", "../x", "a/b", ".uploads", "", "a\0b", 7, None, ["a"]):
        assert local.call("POST", "", json={"name": name}).status_code in (400, 422), name
    assert {path.name for path in local.root.iterdir()} == {"photos", "secret.txt", ".uploads"}
    assert names_in(local) == []


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "..", ".a", "nul", "a\u202etxt", "x" * 256, "a\tb", "C:a"]
)
def test_an_uploaded_file_gets_no_name_that_leads_elsewhere(local, name):
    data = form(file_part("first.txt"), file_part(name))
    answer = local.call("POST", "/photos/upload", data=data, headers=FORM)

    assert refusal(answer) == (400, "INVALID_NAME")
    assert names_in(local) == []
    assert remains_of(local) == []


def test_forms_of_unicode_are_one_name(local):
    send(local, ("cafe\u0301.txt", b"a", "text/plain"))

    assert names_in(local) == ["caf\u00e9.txt"]
    assert local.call("GET", "/photos/download/cafe%CC%81.txt").data == b"a"


def test_links_folders_and_pipes_are_neither_listed_nor_followed(local, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    photos = local.root / "photos"
    (photos / "link.txt").symlink_to(tmp_path / "secret.txt")
    (photos / "folder").mkdir()
    os.mkfifo(photos / "pipe")
    (local.root / "linked").symlink_to(tmp_path)

    assert names_in(local) == []
    assert [found["name"] for found in local.call("GET", "").json] == ["photos"]
    for name in ("link.txt", "folder", "pipe"):
        for method, path in (("GET", "download"), ("GET", "files"), ("DELETE", "files")):
            answer = local.call(method, f"/photos/{path}/{name}")
            assert refusal(answer) == (404, "FILE_NOT_FOUND")
    assert local.call("GET", "/linked/download/secret.txt").status_code == 404
    assert local.call("DELETE", "/linked").status_code == 404
    assert refusal(local.call("DELETE", "/photos")) == (409, "CONTAINER_NOT_EMPTY")
    # An upload takes the place of a link, and does not follow it.
    send(local, ("link.txt", b"new", ""))
    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert local.call("GET", "/photos/download/link.txt").data == b"new"


def test_of_very_many_files_only_those_of_the_page_are_looked_at(local, monkeypatch):
    for number in range(1500):
        (local.root / "photos" / f"{number * 7919 % 1500:04}").touch()
    looked_at = []
    monkeypatch.setattr("app.storage.local.is_name", lambda name: not looked_at.append(name))
    answers = [local.call("GET", f"/photos/files?after={name}") for name in ("", "0999")]

    pages = [[file["name"] for file in answer.json] for answer in answers]
    assert [(page[0], page[-1]) for page in pages] == [("0000", "0999"), ("1000", "1499")]
    assert ["Link" in answer.headers for answer in answers] == [True, False]
    assert len(looked_at) == 1001 + 500


def test_nothing_is_executed_in_a_browser(local):
    script = b"<script>alert(1)</script>"
    named = ("a.html", "a.svg", "a.xhtml", "a.js", "a.xml", "a", "a.png", "a.pdf")
    send(local, *((name, script, "text/html") for name in named))
    sent = {name: local.call("GET", f"/photos/download/{name}").headers for name in named}

    for name in named[:-2]:
        assert sent[name]["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
    for name in named:
        assert sent[name]["X-Content-Type-Options"] == "nosniff"
        assert sent[name]["Content-Security-Policy"].startswith("default-src 'none'")
        assert sent[name]["Cache-Control"] == "private, no-cache"
    assert all("sandbox" in sent[name]["Content-Security-Policy"] for name in named[:-1])
    assert (sent["a.png"].get("Content-Type"), sent["a.pdf"].get("Content-Type")) == (
        "image/png",
        "application/pdf",
    )


def test_types_are_those_that_are_declared_and_begin_so(serve_files):
    files = serve_files(allowedContentTypes=["image/png", "text/plain"], nameConflict="makeUnique")
    files.call("POST", "", json={"name": "photos"})
    refused = [
        send(files, ("a.html", b"<p>", "text/html")),
        send(files, ("a.html", b"<p>", "text/plain")),
        send(files, ("a.png", b"<p>", "image/png")),
        send(files, ("a.png", b"", "image/png")),
        send(files, ("a", PNG, "application/octet-stream")),
    ]
    [stored] = send(files, ("a.png", PNG, "image/png")).json["result"]["files"]["file"]
    # With a new name, it would be too long.
    long = send(files, (f"a.{'x' * 250}", b"a", "text/plain"))

    assert refusal(long) == (400, "INVALID_NAME")
    assert {refusal(answer) for answer in refused} == {(415, "TYPE_NOT_ALLOWED")}
    assert stored["originalFilename"] == "a.png"
    assert stored["name"].endswith(".png")
    assert len(stored["name"]) == 40
    assert names_in(files) == [stored["name"]]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (form(*[file_part(f"{number}.txt") for number in range(101)]), 413),
        (form(file_part("a.txt", more=b"X: " + b"x" * 100_000 + b"\r\n")), 413),
        (form(b'Content-Disposition: form-data; name="a"\r\n\r\n' + b"x" * 65_537), 413),
        (form(file_part("a.txt"))[:-4], 400),
        (b"", 400),
        (b"x" * 200_000, 413),
        (form(b"X: y\r\n\r\na"), 400),
        (form(file_part("a.txt"), b"Content-Disposition: form-data\r\n\r\na"), 400),
        (form(b'Content-Disposition: form-data; filename="a.txt"\r\n\r\na'), 400),
        (form(file_part("a.txt", b"x" * 21_000_000)), 413),
        (form(file_part("a.txt")).replace(b"filename", b"\xff"), 400),
    ],
)
def test_forms_are_bounded(local, data, status):
    answer = local.call("POST", "/photos/upload", data=data, headers=FORM)

    assert answer.status_code == status, answer.json
    assert answer.json["error"]["statusCode"] == status
    assert names_in(local) == []
    assert remains_of(local) == []


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", f"{FORM}{'x' * 99}"])
def test_a_body_that_is_no_form_is_refused(local, kind):
    headers = {"Content-Type": kind}

    answer = local.call("POST", "/photos/upload", data=form(file_part("a")), headers=headers)

    assert refusal(answer) == (400, "INVALID_UPLOAD")


def test_of_two_uploads_of_one_name_one_is_there_whole(local):
    contents = [bytes([number]) * 300_000 for number in range(4)]

    def upload(content):
        data = form(file_part("a.txt", content))
        headers = {**FORM, "Authorization": local.token}
        return lambda client: client.post(
            "/api/containers/photos/upload", data=data, headers=headers
        )

    answers = at_once(local.app, *map(upload, contents))

    assert {answer.status_code for answer in answers} == {HTTPStatus.OK}
    assert local.call("GET", "/photos/download/a.txt").data in contents
    assert names_in(local) == ["a.txt"]
    assert remains_of(local) == []


def test_a_file_that_is_deleted_during_a_download_is_sent_whole(local):
    send(local, ("a.txt", b"0123456789", ""))
    headers = {"Authorization": local.token}
    path = "/api/containers/photos/download/a.txt"
    answer = local.app.test_client().get(path, headers=headers)
    local.call("DELETE", "/photos")

    assert answer.data == b"0123456789"
    answer.close()


@pytest.mark.parametrize(
    ("code", "expected"),
    [(errno.ENOSPC, (507, "STORAGE_FULL")), (errno.EIO, (503, "STORAGE_UNAVAILABLE"))],
)
def test_a_full_or_broken_disk_leaves_no_half_file(local, monkeypatch, code, expected):
    def fail(descriptor):
        raise OSError(code, os.strerror(code), "/a/secret/path")

    monkeypatch.setattr("app.storage.local.os.fsync", fail)
    answer = send(local, ("a.txt", b"a", ""))

    assert (answer.status_code, answer.json["error"]["code"]) == expected
    assert "secret" not in answer.text
    assert names_in(local) == []
    assert remains_of(local) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(serve_files, tmp_path):
    pending = tmp_path / "files" / ".uploads"
    pending.mkdir(parents=True)
    for name in ("old", "new"):
        (pending / name).write_text("half a file")
    os.utime(pending / "old", (0, 0))

    files = serve_files()

    assert [path.name for path in remains_of(files)] == ["new"]


def test_s3_that_does_not_answer_is_an_error_without_its_address(serve_files):
    files = serve_files(provider="amazon", endpoint="http://127.0.0.1:9", keyId="k", key="s")
    answer = files.call("GET", "")

    assert (answer.status_code, answer.json["error"]["code"]) == (503, "STORAGE_UNAVAILABLE")
    assert "127.0.0.1" not in answer.text


def test_wrong_names_of_buckets_are_refused(files):
    assert files.call("GET", "/photos..x/files").status_code in (200, 400)
    assert files.call("POST", "", json={"name": ".."}).status_code == 400


def test_the_body_of_a_refused_upload_is_not_read(local):
    class Untouched(BytesIO):
        def read(self, *args):
            raise AssertionError(threading.current_thread())

    answer = local.anonymous(
        "POST",
        "/containers/photos/upload",
        input_stream=Untouched(),
        headers={**FORM, "Content-Length": "5"},
    )

    assert answer.status_code == 401
