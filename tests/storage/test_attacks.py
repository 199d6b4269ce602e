"""What clients must not reach by names, types, forms and links, and what races must not break."""

import errno
import os
import threading
import unicodedata
from http import HTTPStatus
from io import BytesIO
from stat import S_IMODE
from urllib.parse import quote

import pytest

from app.problems import ConfigurationError
from app.storage.local import MAX_AT_ONCE
from app.storage.store import MAX_NORMALIZED
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.waiting import eventually

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


@pytest.fixture
def normalized(monkeypatch):
    """The lengths of all texts that are normalized: those of marks take quadratic time."""
    lengths, normalize = [], unicodedata.normalize

    def record(form, text):
        lengths.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", record)
    return lengths


def test_the_length_of_a_name_is_checked_before_it_is_normalized(local, normalized):
    marks = "a" + "\u0316\u0300" * 2000
    path = quote(marks)[:15_000]
    answers = [
        local.call("POST", "", json={"name": marks * 4}),
        local.call("GET", f"/photos/download/{path}"),
        local.call("GET", f"/{path}/files"),
        send(local, (marks[:1000], b"a", "text/plain")),
    ]

    assert {refusal(answer) for answer in answers} == {(400, "INVALID_NAME")}
    assert max(normalized, default=0) <= MAX_NORMALIZED


@pytest.mark.parametrize("name", ["\u01d6" * 127 + "a", "\u03ae" * 127 + ".", "a" * 255])
def test_a_name_of_255_bytes_may_come_in_any_form(local, name):
    name = name.removesuffix(".")
    decomposed = unicodedata.normalize("NFD", name)
    assert send(local, (decomposed, b"a", "text/plain")).status_code == 200

    assert names_in(local) == [name]
    assert len(decomposed) <= MAX_NORMALIZED


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


# What is sent as what it is; a page cannot have any of it as its script, style or frame.
SENT_AS = {
    "a.png": "image/png",
    "a.JPG": "image/jpeg",
    "a.heic": "image/heic",
    "a.pdf": "application/pdf",
    "a.mp3": "audio/mpeg",
    "a.mov": "video/quicktime",
    "a.txt": "text/plain; charset=utf-8",
}
OTHERS = [
    *("a", "a.js", "a.mjs", "a.css", "a.html", "a.xhtml", "a.svg", "a.svgz", "a.xml", "a.json"),
    *("a.wasm", "a.csv", "a.md", "a.zip", "a.woff2", "a.docx", "a.exe", "a.hta", "a.webmanifest"),
]


def test_only_media_text_and_pdf_are_sent_by_their_type(local):
    send(local, *((name, b"alert(1)", "text/javascript") for name in (*SENT_AS, *OTHERS)))
    sent = {name: local.call("GET", f"/photos/download/{name}").headers for name in names_in(local)}
    types = {name: headers["Content-Type"] for name, headers in sent.items()}
    shown = {name for name in sent if sent[name]["Content-Disposition"].startswith("inline;")}

    assert types == {**SENT_AS, **dict.fromkeys(OTHERS, "application/octet-stream")}
    assert shown == {"a.png", "a.JPG", "a.pdf"}


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


PROGRAMS = [
    *("a.exe", "a.hta", "a.ps1", "a.PS1", "a.php", "a.tar.sh", "a.js", "a.svg", "a.svgz", "a.02"),
]


def test_an_ending_whose_type_is_not_allowed_is_refused(serve_files):
    files = serve_files(allowedContentTypes=["image/png", "text/plain", ".dwg"])
    files.call("POST", "", json={"name": "photos"})

    refused = {name: refusal(send(files, (name, b"a", "text/plain"))) for name in PROGRAMS}
    stored = send(files, ("a.DWG", b"a", "image/vnd.dwg"), ("note", b"a", "text/plain"))

    assert refused == dict.fromkeys(PROGRAMS, (415, "TYPE_NOT_ALLOWED"))
    assert stored.status_code == 200
    assert names_in(files) == ["a.DWG", "note"]


def test_an_ending_that_is_not_known_is_of_no_certain_type(serve_files):
    files = serve_files(allowedContentTypes=["application/octet-stream"])
    files.call("POST", "", json={"name": "photos"})

    assert send(files, ("a.exe", b"a", "application/octet-stream")).status_code == 200
    assert send(files, ("a.exe", b"a", "application/x-msdownload")).status_code == 415
    assert send(files, ("a.png", PNG, "application/octet-stream")).status_code == 415


def test_a_type_may_be_declared_by_each_of_its_names(serve_files):
    files = serve_files(allowedContentTypes=["application/x-zip-compressed", "application/rtf"])
    files.call("POST", "", json={"name": "photos"})
    zipped = (b"PK\x03\x04", "application/zip")

    assert send(files, ("a.zip", *zipped), ("a.rtf", b"a", "text/rtf")).status_code == 200


def test_a_new_root_is_for_the_user_of_the_service_alone(tmp_path, serve_files):
    umask = os.umask(0o022)
    try:
        files = serve_files(root=str(tmp_path / "parent" / "files"))
    finally:
        os.umask(umask)
    files.call("POST", "", json={"name": "photos"})
    send(files, ("a.txt", b"a", "text/plain"))
    root = tmp_path / "parent" / "files"

    paths = [root, root / ".uploads", root / "photos", root / "photos" / "a.txt"]
    assert [oct(S_IMODE(path.stat().st_mode)) for path in paths] == ["0o700"] * 3 + ["0o600"]


@pytest.mark.parametrize("root", ["", "public", "public/files", "."])
def test_a_root_that_has_files_of_something_else_stops_the_start(
    serve_files, tmp_path, monkeypatch, root
):
    """Whoever may upload would replace them, and everybody be sent what was uploaded."""
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path / "project"))
    (tmp_path / "project" / "public" / "client").mkdir(parents=True)
    settings = {"STATIC_FOLDER": "public/client" if root == "public" else "public"}
    with pytest.raises(ConfigurationError, match=r"root .*(project|STATIC_FOLDER)"):
        serve_files(root=str(tmp_path / "project" / root), settings=settings)


def test_of_a_container_with_many_files_the_most_are_deleted_beside_the_request(local, monkeypatch):
    for number in range(MAX_AT_ONCE + 500):
        (local.root / "photos" / f"{number}").touch()
    begun = []

    class Thread:
        """Notes what a thread would do."""

        def __init__(self, target, args, **_options):
            self.start = lambda: begun.append((target, args))

    monkeypatch.setattr("app.storage.local.Thread", Thread)
    answer = local.call("DELETE", "/photos")
    [removed] = remains_of(local)

    assert answer.status_code == 204
    assert local.call("GET", "").json == []
    assert len(list(removed.iterdir())) == 500
    # The name is free at once.
    assert local.call("POST", "", json={"name": "photos"}).status_code == 200
    [(target, args)] = begun
    target(*args)
    assert remains_of(local) == []


def test_a_container_with_many_files_is_deleted_whole(local):
    for number in range(MAX_AT_ONCE + 1):
        (local.root / "photos" / f"{number}").touch()
    local.call("DELETE", "/photos")

    eventually(lambda: remains_of(local) == [])


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (form(*[file_part(f"{number}.txt") for number in range(101)]), 413),
        (form(file_part("a.txt", more=b"X: " + b"x" * 16_384 + b"\r\n")), 413),
        (form(part(f'name="{"a" * 16_384}"'), file_part("a.txt")), 413),
        (form(*[part(f'name="{"a" * 4096}"')] * 40, file_part("a.txt")), 413),
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
