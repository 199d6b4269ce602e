"""What strangers and other users try with the files of rows."""

import time
from datetime import timedelta
from hashlib import blake2b, sha256

import pytest
from sqlalchemy import update

from app.database.columns import StoredFile
from app.database.session import db
from app.files.urls import STEP
from app.outbox.models import Delivery
from app.rest.collection import get_resource
from app.rest.rows.files import announce
from app.times import now
from tests.storage.conftest import PNG
from tests.support.answers import field_codes, refusal

from .conftest import ALBUM, FORM, KEY, PHOTO, file_part, form, text_part

PAGE = b"<html><script>alert(1)</script></html>"
SIGNATURE = (403, "INVALID_SIGNATURE")


def url_of(photos, photo):
    """Return the path of a photo's file, and the values of its query."""
    path, _, query = photo["image"]["url"].removeprefix("/api").partition("?")
    return path, dict(pair.split("=") for pair in query.split("&"))


def read(photos, path, query, **options):
    return photos("GET", path, query_string=query, token=None, **options)


def test_an_altered_signature_is_refused(photos):
    path, query = url_of(photos, photos.photo())
    signature = query["signature"]
    altered = ("0" if signature[0] != "0" else "1") + signature[1:]

    for wrong in (altered, "", signature[:-1], signature + "0", "ä" * 64, "\x00" * 64):
        assert refusal(read(photos, path, {**query, "signature": wrong})) == SIGNATURE
    for when in (int(query["expires"]) + 1, 10**11, "", "-1", "x", "9" * 5000, "٣" * 10, "1e9"):
        assert refusal(read(photos, path, {**query, "expires": when})) == SIGNATURE
    assert refusal(read(photos, path, {})) == SIGNATURE


def test_a_url_is_of_one_row_and_one_property(serve_photos):
    properties = {**PHOTO["properties"], "other": PHOTO["properties"]["image"]}
    photos = serve_photos({"photo": {**PHOTO, "properties": properties}, "album": ALBUM})
    first, second = photos.photo(), photos.photo()
    path, query = url_of(photos, first)
    headers = {"Content-Type": "image/png"}
    photos("PUT", f"/photos/{first['id']}/other", data=PNG, headers=headers)

    assert read(photos, path, query).status_code == 200
    for other in (
        path.replace(str(first["id"]), str(second["id"])),
        path.replace("/image/", "/other/"),
        path.replace(str(first["id"]), "999"),
        path.replace(str(first["id"]), "x"),
    ):
        assert refusal(read(photos, other, query)) == SIGNATURE


def test_a_url_expires(photos):
    photo = photos.photo()
    path, query = url_of(photos, photo)
    left, row_id = int(query["expires"]) - time.time(), photo["id"]
    with photos.app.app_context():
        file = db.session.get(get_resource("Photos").model, row_id).image
    past = int(query["expires"]) - 4 * STEP
    key = sha256(KEY.encode()).digest()

    def signed(expires):
        text = f"file /api/photos image {row_id} {file.key} {expires}"
        mac = blake2b(text.encode(), key=key, digest_size=16)
        return {"expires": expires, "signature": mac.hexdigest()}

    assert STEP - 30 <= left <= 2 * STEP
    assert signed(int(query["expires"]))["signature"] == query["signature"]
    assert refusal(read(photos, path, signed(past))) == SIGNATURE


def test_a_url_ends_with_its_row_and_its_file(photos):
    first, second = photos.photo(), photos.photo()
    path, query = url_of(photos, first)
    photos("DELETE", f"/photos/{first['id']}")
    removed_path, removed_query = url_of(photos, second)
    photos("DELETE", f"/photos/{second['id']}/image")

    assert refusal(read(photos, path, query)) == SIGNATURE
    assert refusal(read(photos, removed_path, removed_query)) == SIGNATURE


def test_other_users_neither_read_nor_write_files(photos):
    photo = photos.photo()
    path = f"/photos/{photo['id']}/image"
    other = photos.api.logged_in("eve@example.com")
    headers = {"Content-Type": "image/png"}

    for token in (None, other):
        assert photos("GET", path, token=token).status_code in (401, 403, 404)
        put = photos("PUT", path, token=token, data=PNG, headers=headers)
        assert put.status_code in (401, 403, 404)
        assert photos("DELETE", path, token=token).status_code in (401, 403, 404)
    assert photos.upload(title="A cat", ownerId="999").status_code in (403, 422)
    anonymous = photos(
        "POST", "/photos", data=form(text_part("title", "a")), headers=FORM, token=None
    )
    photos.drain()
    assert anonymous.status_code == 401
    assert len(photos.stored()) == 1


def test_writing_a_file_needs_the_permission_to_change_the_row(serve_photos):
    readers = [
        *PHOTO["acls"][:1],
        {
            "principalType": "ROLE",
            "principalId": "$authenticated",
            "permission": "ALLOW",
            "property": "findById",
        },
    ]
    photos = serve_photos({"photo": {**PHOTO, "acls": readers}, "album": ALBUM})
    photo = photos.photo()
    path = f"/photos/{photo['id']}/image"
    put = photos("PUT", path, data=PNG, headers={"Content-Type": "image/png"})

    assert photos("GET", path).data == PNG
    assert refusal(put)[0] == 403
    assert refusal(photos("DELETE", path))[0] == 403


@pytest.mark.parametrize(
    "image",
    [
        ("cat.png", PAGE, "image/png"),
        ("cat.html", PAGE, "image/png"),
        ("cat.html", PAGE, "text/html"),
        ("cat.png", PNG, "text/html"),
        ("cat.exe", PNG, "image/png"),
        ("cat.png", b"", "image/png"),
    ],
)
def test_pages_and_programs_are_no_images(photos, image):
    refused = photos.upload(title="A cat", image=image)
    photo = photos.photo()
    put = photos(
        *("PUT", f"/photos/{photo['id']}/image?name={image[0]}"),
        data=image[1],
        headers={"Content-Type": image[2]},
    )

    assert refusal(refused) == (415, "TYPE_NOT_ALLOWED")
    assert put.status_code in (400, 415)
    assert len(photos.stored()) == 1


def test_an_image_that_may_hold_a_script_is_saved_and_not_shown(photos):
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    photo = photos.photo(image=("cat.svg", drawing, "image/svg+xml"))
    path, query = url_of(photos, photo)
    sent = read(photos, path, query)

    assert sent.content_type == "application/octet-stream"
    assert sent.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in sent.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", "a/b.png", "a\\b.png", "con.png", " .png"]
)
def test_names_lead_nowhere(photos, name):
    refused = photos.upload(title="A cat", image=(name.replace("\\", "\\\\"), PNG, "image/png"))
    photo = photos.photo()
    headers = {"Content-Type": "image/png"}
    path = f"/photos/{photo['id']}/image"
    put = photos("PUT", path, query_string={"name": name}, data=PNG, headers=headers)

    assert refusal(refused) == (400, "INVALID_NAME")
    assert refusal(put) == (400, "INVALID_NAME")
    assert len(photos.stored()) == 1


def test_too_large_files_and_forms_are_refused(photos):
    large = PNG + b"x" * 2000
    refused = photos.upload(title="A cat", image=("cat.png", large, "image/png"))
    fields = photos.upload(title="A cat", tags="x" * 1_500_000)
    photo = photos.photo()
    path = f"/photos/{photo['id']}/image"
    put = photos("PUT", path, data=large, headers={"Content-Type": "image/png"})
    huge = photos("POST", "/photos", {"title": "x" * 1_500_000})

    for answer in (refused, fields, put, huge):
        assert refusal(answer) == (413, "PAYLOAD_TOO_LARGE")
    assert len(photos.stored()) == 1


def test_forms_that_cannot_be_read_are_refused(photos):
    twice = form(text_part("title", "a"), text_part("title", "b"))
    unknown = form(text_part("title", "a"), file_part("picture", "a.png"))
    no_text = form(b'Content-Disposition: form-data; name="title"\r\n\r\n\xff')
    as_text = form(text_part("title", "a"), text_part("image", '{"key": "0", "store": "pictures"}'))
    files = form(text_part("title", "a"), *[file_part("image", "a.png")] * 2)

    def status(data):
        return photos("POST", "/photos", data=data, headers=FORM).status_code

    assert status(twice) == status(no_text) == status(files) == status(b"no form") == 400
    assert status(unknown) == status(as_text) == 422
    assert status(form(*[text_part(f"a{number}", "x") for number in range(200)])) == 413
    photos.drain()
    assert photos.stored() == []


def test_a_form_cannot_be_sent_with_a_key_that_repeats_its_answer(serve_photos):
    photos = serve_photos(settings={"IDEMPOTENCY_TTL": 3600})
    key = {"Idempotency-Key": "one"}
    refused = photos(
        *("POST", "/photos"),
        data=form(text_part("title", "a"), file_part("image", "a.png")),
        headers={**FORM, **key},
    )
    created = photos("POST", "/photos", {"title": "a"}, headers=key)
    again = photos("POST", "/photos", {"title": "a"}, headers=key)
    put = photos(
        *("PUT", f"/photos/{created.json['id']}/image"),
        data=PNG,
        headers={"Content-Type": "image/png", **key},
    )

    assert refusal(refused) == (400, "IDEMPOTENCY_KEY_UNSUPPORTED")
    assert created.json == again.json
    assert refusal(put) == (400, "IDEMPOTENCY_KEY_UNSUPPORTED")
    assert photos.stored() == []


def test_a_batch_creates_rows_without_files_and_takes_no_file(serve_photos):
    photos = serve_photos(settings={"BATCH_ENABLED": True})
    create = {"method": "POST", "path": "/photos", "body": {"title": "a"}}
    remove = {"method": "DELETE", "path": "/photos/1/image"}

    created = photos("POST", "/batch", {"requests": [create]})
    assert created.json["responses"][0]["status"] == 200
    assert refusal(photos("POST", "/batch", {"requests": [remove]}))[0] == 400


def test_a_hidden_file_is_neither_shown_nor_sent(serve_photos):
    properties = {**PHOTO["properties"], "image": {**PHOTO["properties"]["image"], "hidden": True}}
    photos = serve_photos({"photo": {**PHOTO, "properties": properties}, "album": ALBUM})
    photo = photos.photo()
    path = f"/photos/{photo['id']}/image"

    assert "image" not in photo
    assert photos("GET", path).status_code in (404, 405)
    assert photos("GET", f"{path}/signed").status_code == 404
    assert photos("DELETE", path).status_code == 204
    photos.drain()
    assert photos.stored() == []


def test_a_required_file_is_required_and_cannot_be_removed(serve_photos):
    properties = {
        **PHOTO["properties"],
        "image": {**PHOTO["properties"]["image"], "required": True},
    }
    photos = serve_photos({"photo": {**PHOTO, "properties": properties}, "album": ALBUM})
    photo = photos.photo()
    path = f"/photos/{photo['id']}"

    assert field_codes(photos("POST", "/photos", {"title": "a"})) == {"image": ["presence"]}
    assert field_codes(photos.upload(title="a", image=None)) == {"image": ["presence"]}
    assert field_codes(photos("DELETE", f"{path}/image")).keys() == {"image"}
    assert photos("PUT", path, {"title": "b"}).json["image"] == photo["image"]


def test_a_hook_that_refuses_a_row_leaves_no_file(serve_photos):
    code = """
from app.errors import ValidationError

def extend(photos):
    @photos.before_save.connect
    def refuse(resource, event):
        if event.values.get("title") == "late":
            raise ValidationError({"title": ["is late"]})

    @photos.after_save.connect
    def refuse_afterwards(resource, event):
        if event.row.title == "later":
            raise ValidationError({"title": ["is later"]})
"""
    photos = serve_photos(code={"photo": code})
    photo = photos.photo()
    late, later = photos.upload(title="late"), photos.upload(title="later")
    photos.drain()

    assert field_codes(late).keys() == field_codes(later).keys() == {"title"}
    assert len(photos.stored()) == 1
    assert photo["image"]["name"] == "cat.png"


def test_what_a_killed_process_leaves_is_removed_by_the_outbox(photos):
    """The file appeared, and its row was never stored."""
    kept = photos.photo()
    [key] = photos.stored()
    container = next(photos.root.glob(f"*/{key}")).parent
    (container / "0123").write_bytes(PNG)
    lost = StoredFile("pictures", container.name, "0123", "a.png", "image/png", len(PNG))
    with photos.app.app_context():
        announce(lost)
        waiting = photos.drain()
        past = now() - timedelta(minutes=1)
        db.session.execute(update(Delivery).values(next_attempt=past))
        db.session.commit()
    photos.drain()

    assert sum(waiting.values()) == 0
    assert photos.stored() == [key]
    assert photos("GET", f"/photos/{kept['id']}/image").data == PNG
