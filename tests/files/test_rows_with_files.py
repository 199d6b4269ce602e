"""Files of rows are uploaded, read, replaced and removed, on both databases and stores."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.database.session import db
from app.rest.collection import get_resource
from app.rest.rows.files import MAX_CHANGED
from tests.storage.conftest import PNG
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once, waiting
from tests.support.waiting import eventually

from .conftest import FORM, file_part, form, text_part

pytestmark = pytest.mark.both_databases
JPEG = b"\xff\xd8\xff" + b"another picture"


def test_a_form_creates_a_row_with_its_file(stored_photos):
    photo = stored_photos.photo(title="A cat", stars="4.5", tags='["cats"]')
    read = stored_photos("GET", f"/photos/{photo['id']}").json
    image = photo["image"]
    sent = stored_photos("GET", f"/photos/{photo['id']}/image")

    assert (photo["title"], photo["stars"], photo["tags"]) == ("A cat", 4.5, ["cats"])
    assert (image["name"], image["type"], image["size"]) == ("cat.png", "image/png", len(PNG))
    assert image["url"].startswith(f"/api/photos/{photo['id']}/image/signed?")
    assert read == photo
    assert (sent.status_code, sent.data, sent.content_type) == (200, PNG, "image/png")
    assert sent.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in sent.headers["Content-Security-Policy"]


def test_the_url_of_a_file_needs_no_token(stored_photos):
    url = stored_photos.photo()["image"]["url"].removeprefix("/api")
    sent = stored_photos("GET", url, token=None)
    known = stored_photos("GET", url, token=None, headers={"If-None-Match": sent.headers["ETag"]})
    part = stored_photos("GET", url, token=None, headers={"Range": "bytes=0-3"})
    head = stored_photos("HEAD", url, token=None)

    assert (sent.status_code, sent.data) == (200, PNG)
    assert known.status_code == 304
    assert (part.status_code, part.data) == (206, PNG[:4])
    assert (head.status_code, head.data, head.content_length) == (200, b"", len(PNG))
    assert stored_photos("PUT", url, token=None, data=PNG).status_code in (404, 405)


def test_the_bytes_of_a_request_replace_a_file(stored_photos):
    photo = stored_photos.photo()
    path = f"/photos/{photo['id']}/image"
    put = stored_photos("PUT", path, data=JPEG, headers={"Content-Type": "image/jpeg"})
    named = stored_photos(
        *("PUT", f"{path}?name=dog.jpg"), data=JPEG, headers={"Content-Type": "image/jpeg"}
    )
    stored_photos.drain()

    assert (put.status_code, put.json["image"]["name"]) == (200, "image.jpeg")
    assert named.json["image"]["name"] == "dog.jpg"
    assert stored_photos("GET", path).data == JPEG
    old = photo["image"]["url"].removeprefix("/api")
    assert refusal(stored_photos("GET", old, token=None)) == (403, "INVALID_SIGNATURE")


def test_replaced_and_removed_files_disappear_after_the_commit(photos):
    photo = photos.photo()
    [first] = photos.stored()
    path = f"/photos/{photo['id']}/image"
    photos("PUT", path, data=JPEG, headers={"Content-Type": "image/jpeg"})
    both = photos.stored()
    photos.drain()
    [second] = photos.stored()
    removed = photos("DELETE", path)
    photos.drain()

    assert first in both
    assert len(both) == 2
    assert second != first
    assert (removed.status_code, removed.data) == (204, b"")
    assert photos.stored() == []
    assert photos("GET", f"/photos/{photo['id']}").json["image"] is None
    assert refusal(photos("GET", path)) == (404, "FILE_NOT_FOUND")
    assert photos("DELETE", path).status_code == 204


def test_files_disappear_with_their_rows_however_these_are_deleted(photos):
    album = photos("POST", "/albums", {"title": "Cats"}).json["id"]
    one = photos.photo()["id"]
    photos.photo(path=f"/albums/{album}/photos")
    assert len(photos.stored()) == 2

    assert photos("DELETE", f"/photos/{one}").json == {"count": 1}
    photos.drain()
    assert len(photos.stored()) == 1

    assert photos("DELETE", f"/albums/{album}/photos").status_code == 204
    photos.drain()
    assert photos.stored() == []


def test_files_disappear_with_rows_that_the_database_deletes(photos):
    owner = photos.photo()["ownerId"]
    deleted = photos("DELETE", f"/users/{owner}")
    photos.drain()

    assert deleted.status_code in (200, 204)
    assert photos.stored() == []


def test_a_row_that_is_refused_leaves_no_file(photos):
    refused = photos.upload(stars="2")
    unknown = photos.upload(title="A cat", colour="red")
    photos.drain()

    assert field_codes(refused).keys() == {"title"}
    assert field_codes(unknown).keys() == {"colour"}
    assert photos.stored() == []
    assert list((photos.root / ".uploads").iterdir()) == []
    assert photos("GET", "/photos").json == []


def test_a_form_without_the_file_creates_a_row_without_it(photos):
    without = photos.upload(title="No cat", image=None)
    empty = photos.upload(title="No cat", image=("", b"", "application/octet-stream"))

    assert (without.status_code, without.json["image"]) == (200, None)
    assert (empty.status_code, empty.json["image"]) == (200, None)


def test_json_keeps_a_file_and_may_remove_it_but_never_sets_it(photos):
    photo = photos.photo()
    path = f"/photos/{photo['id']}"
    replaced = photos("PUT", path, {**photo, "title": "The same cat"})
    without = photos("PUT", path, {"title": "A cat"})
    other = {**photo["image"], "name": "dog.png"}
    strange = {"key": "0" * 32, "store": "pictures", "container": "photos-image"}

    assert (replaced.status_code, replaced.json["title"]) == (200, "The same cat")
    assert replaced.json["image"] == without.json["image"] == photo["image"]
    assert field_codes(photos("PATCH", path, {"image": other})).keys() == {"image"}
    assert field_codes(photos("PATCH", path, {"image": strange})).keys() == {"image"}
    assert field_codes(photos("POST", "/photos", {"title": "a", "image": other}))
    assert field_codes(photos("POST", "/photos", {"title": "a", "image": "cat.png"}))
    assert photos("PATCH", path, {"image": None}).json["image"] is None
    photos.drain()
    assert photos.stored() == []


def test_filters_only_ask_whether_a_row_has_a_file(photos):
    photos.photo()
    photos.upload(title="No cat", image=None)

    def titles(where):
        query = {"filter": json.dumps({"where": where})}
        return [each["title"] for each in photos("GET", "/photos", query_string=query).json]

    def refused(filter_):
        query = {"filter": json.dumps(filter_)}
        return refusal(photos("GET", "/photos", query_string=query))[0]

    assert titles({"image": None}) == ["No cat"]
    assert titles({"image": {"neq": None}}) == ["A cat"]
    assert titles({"image": {"exists": True}}) == ["A cat"]
    for where in ({"image": "x"}, {"image": {"gt": 1}}, {"image.key": "x"}, {"image": {"a": 1}}):
        assert refused({"where": where}) == 400
    assert refused({"order": "image ASC"}) == 400
    aggregated = photos(
        *("GET", "/photos/aggregate"), query_string={"filter": '{"groupBy": ["image"]}'}
    )
    assert refusal(aggregated)[0] == 400


def test_the_tag_of_a_row_outlasts_its_url(photos):
    photo = photos.photo()
    path = f"/photos/{photo['id']}"
    tag = photos("GET", path).headers["ETag"]
    again = photos("GET", path, headers={"If-None-Match": tag})
    changed = photos(
        *("PUT", f"{path}/image"),
        data=JPEG,
        headers={"If-Match": tag, "Content-Type": "image/jpeg"},
    )
    late = photos("DELETE", f"{path}/image", headers={"If-Match": tag})

    assert (again.status_code, again.headers["ETag"]) == (200, tag)
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag
    assert refusal(late) == (412, "PRECONDITION_FAILED")
    assert photos("GET", f"{path}/image").data == JPEG


def test_rows_that_are_included_have_urls(photos):
    album = photos("POST", "/albums", {"title": "Cats"}).json["id"]
    photos.photo(path=f"/albums/{album}/photos")
    query = {"filter": '{"include": "photos"}'}
    [included] = photos("GET", f"/albums/{album}", query_string=query).json["photos"]

    url = included["image"]["url"].removeprefix("/api")
    assert photos("GET", url, token=None).data == PNG


def test_of_concurrent_uploads_one_file_remains(photos):
    path = f"/api/photos/{photos.photo()['id']}/image"
    headers = {"Authorization": photos.token, "Content-Type": "image/png"}

    def put(number):
        content = PNG + bytes([number])
        return lambda client: client.put(path, data=content, headers=headers, buffered=True)

    answers = at_once(photos.app, *map(put, range(6)))
    photos.drain()

    assert {answer.status_code for answer in answers} == {200}
    assert len(photos.stored()) == 1
    assert photos("GET", path.removeprefix("/api")).data[:-1] == PNG


def test_a_file_that_is_uploaded_while_its_row_is_deleted_does_not_remain(photos):
    photo = photos.photo()["id"]
    headers = {"Authorization": photos.token}
    path = f"/api/photos/{photo}"

    def delete(client):
        return client.delete(path, headers=headers)

    def put(client):
        image = {**headers, "Content-Type": "image/png"}
        return client.put(f"{path}/image", data=PNG, headers=image, buffered=True)

    deleted, uploaded = at_once(photos.app, delete, put)
    photos.drain()

    assert deleted.status_code == 200
    assert uploaded.status_code in (200, 404)
    assert photos.stored() == []


@pytest.mark.only_on("postgresql")
def test_a_file_that_is_replaced_while_its_owner_is_deleted_does_not_remain(photos):
    photo, deleted = photos.photo(), []

    def delete_owner(resource, event):
        path = f"/users/{photo['ownerId']}"
        deleted.append(pool.submit(photos, "DELETE", path))
        # For the row that this transaction has changed.
        eventually(lambda: waiting(watcher) == 1)

    with photos.app.app_context():
        get_resource("Photos").after_save.connect(delete_owner)
        engine = db.engine
    with ThreadPoolExecutor(1) as pool, engine.connect() as watcher:
        headers = {"Content-Type": "image/png"}
        path = f"/photos/{photo['id']}/image"
        replaced = photos("PUT", path, data=PNG, headers=headers)
    photos.drain()

    assert replaced.status_code == 200
    assert [each.result().status_code for each in deleted] == [200]
    assert photos.stored() == []


def test_many_rows_lose_their_files_in_one_change(photos):
    first, second = photos.photo(), photos.photo(title="Another cat")
    changed = photos(
        *("POST", "/photos/update"),
        {"image": None},
        query_string={"where": json.dumps({"title": "A cat"})},
    )
    refused = photos(
        *("POST", "/photos/update"), {"image": first["image"]}, query_string={"where": "{}"}
    )
    photos.drain()

    assert changed.json == {"count": 1}
    assert field_codes(refused).keys() == {"image"}
    assert len(photos.stored()) == 1
    assert photos("GET", f"/photos/{second['id']}/image").data == PNG


def test_the_files_of_a_bounded_number_of_rows_are_changed_at_once(photos):
    kept = photos.photo()
    for _ in range(MAX_CHANGED // 250):
        photos("POST", "/photos", [{"title": "No cat"}] * 250)
    everything = {"query_string": {"where": "{}"}}
    refused = photos("POST", "/photos/update", {"image": None}, **everything)
    photos.drain()

    assert refusal(refused) == (400, "TOO_MANY_ROWS")
    assert photos("GET", f"/photos/{kept['id']}/image").data == PNG
    assert photos("POST", "/photos/update", {"stars": 1}, **everything).json["count"] == 501


def test_a_file_for_another_property_is_refused(photos):
    parts = [text_part("title", "A cat"), file_part("tags", "cat.png")]
    refused = photos("POST", "/photos", data=form(*parts), headers=FORM)

    assert refused.status_code == 422
    assert refused.json["error"]["details"]["messages"] == {"tags": ["takes no file"]}


def test_clients_of_loopback_send_rows_back_as_they_were_read(serve_photos):
    photos = serve_photos(settings={"COMPATIBILITY": "loopback3"})
    photo = photos.photo(stars="4")
    path = f"/photos/{photo['id']}"
    replaced = photos("PUT", path, {**photo, "title": "The same cat"})
    other = photos("PATCH", path, {"image": {**photo["image"], "name": "dog.png"}})

    assert replaced.json == {**photo, "title": "The same cat"}
    assert field_codes(other).keys() == {"image"}
    assert photos("GET", f"{path}/image").data == PNG
