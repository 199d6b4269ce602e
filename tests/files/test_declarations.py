"""How properties with files are declared, and described in the OpenAPI document."""

import pytest

from app.outbox.delivery import drain
from app.problems import ConfigurationError
from tests.storage.conftest import PNG
from tests.support.answers import refusal

from .conftest import ALBUM, IMAGE, PHOTO, file_part, form


def with_image(**keys):
    """Return models whose photos have an image with other keys; None removes one."""
    image = {key: value for key, value in {**IMAGE, **keys}.items() if value is not None}
    properties = {**PHOTO["properties"], "image": image}
    return {"photo": {**PHOTO, "properties": properties}, "album": ALBUM}


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"store": None}, "image.store: must be the name of a store"),
        ({"store": "elsewhere"}, "there is no such store; there are pictures"),
        ({"types": "image/png"}, "must be a list of types"),
        ({"types": ["../x"]}, "must be a list of types"),
        ({"maxBytes": 0}, "must be a positive whole number"),
        ({"maxBytes": 10**9}, "files of the store have at most 10485760 bytes"),
        ({"default": "a.png"}, "a file cannot have it"),
        ({"container": ""}, "must be the name of a container"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_named(serve_photos, keys, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        serve_photos(with_image(**keys))


def test_a_model_with_files_needs_a_key_for_their_urls(serve_photos):
    with pytest.raises(ConfigurationError, match=r"Photo\.image: needs FILE_URL_KEYS"):
        serve_photos(settings={"FILE_URL_KEYS": []})


def test_a_store_without_the_types_is_named(serve_photos):
    with pytest.raises(ConfigurationError, match="the store allows none of its types"):
        serve_photos(allowedContentTypes=["application/pdf"])


def test_users_have_no_files(serve_photos):
    user = {"name": "Person", "base": "User", "properties": {"image": IMAGE}}
    with pytest.raises(ConfigurationError, match="users have no files"):
        serve_photos({"person": user})


def test_a_property_has_not_the_name_of_a_call(serve_photos):
    photo = {**PHOTO, "properties": {"exists": IMAGE}}
    with pytest.raises(ConfigurationError, match="has the name of a call"):
        serve_photos({"photo": photo, "album": ALBUM})


def test_a_store_of_rows_is_not_served_as_containers(make_models, tmp_path):
    entry = {"connector": "loopback-component-storage", "root": str(tmp_path / "files")}
    models = {"photo": PHOTO, "album": ALBUM, "container": {"name": "container", "base": "Model"}}
    config = {"Photo": {}, "Album": {}, "container": {"dataSource": "pictures"}}
    with pytest.raises(ConfigurationError, match="pictures has files of rows"):
        make_models(models, config, DATA_SOURCES={"pictures": entry}, FILE_URL_KEYS=["a" * 32])


def test_files_are_in_the_container_that_is_declared(serve_photos):
    photos = serve_photos(with_image(container="gallery", types=None))
    photos.photo(image=("page.html", b"<html></html>", "text/html"))

    assert len(list((photos.root / "gallery").iterdir())) == 1


def test_files_of_a_property_that_is_gone_are_still_removed(serve_photos):
    photos = serve_photos()
    photos.photo()
    photos("DELETE", "/photos/1")

    assert drain(photos.app) == {"delivered": 1}
    assert photos.stored() == []


def test_methods_that_are_off_take_those_of_files_with_them(serve_photos):
    off = {"findById": False, "prototype.patchAttributes": False}
    models = {"photo": {**PHOTO, "options": {"remoting": {"sharedMethods": off}}}, "album": ALBUM}
    photos = serve_photos(models)
    photo = photos.photo()
    path = f"/photos/{photo['id']}/image"

    assert photos("GET", path).status_code == 404
    assert photos("PUT", path, data=PNG, headers={"Content-Type": "image/png"}).status_code == 404


def test_the_document_describes_forms_bytes_and_urls(photos):
    document = photos("GET", "/openapi.json").json
    paths = document["paths"]
    create = paths["/photos"]["post"]["requestBody"]["content"]
    in_album = paths["/albums/{id}/photos"]["post"]["requestBody"]["content"]
    file = paths["/photos/{id}/image"]
    image = document["components"]["schemas"]["Photo"]["properties"]["image"]
    new = document["components"]["schemas"]["NewPhoto"]["properties"]

    assert create.keys() == in_album.keys() == {"application/json", "multipart/form-data"}
    assert create["multipart/form-data"]["schema"]["properties"]["image"] == {
        "type": "string",
        "format": "binary",
    }
    assert new.get("image", {"readOnly": True})["readOnly"]
    assert file.keys() >= {"get", "put", "delete"}
    assert file["put"]["requestBody"]["content"].keys() == {"application/octet-stream"}
    assert image["readOnly"]
    assert image["properties"].keys() == {"name", "type", "size", "url"}
    assert paths["/photos/{id}/image/signed"]["get"]["security"] == []


def test_only_forms_have_a_file_that_is_required(serve_photos):
    document = serve_photos(with_image(required=True))("GET", "/openapi.json").json
    create = document["paths"]["/photos"]["post"]["requestBody"]["content"]
    schemas = document["components"]["schemas"]

    assert create["multipart/form-data"]["schema"]["required"] == ["title", "image"]
    assert schemas["PhotoReplacement"]["required"] == ["title"]


def test_a_form_is_refused_where_no_row_is_created(photos):
    photo = photos.photo()
    data = form(file_part("image", "a.png"))
    headers = {"Content-Type": "multipart/form-data; boundary=x"}

    patched = photos("PATCH", f"/photos/{photo['id']}", data=data, headers=headers)
    elsewhere = photos("POST", "/albums", data=data, headers=headers)
    assert refusal(patched)[0] == refusal(elsewhere)[0] == 415
