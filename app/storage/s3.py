"""Files in an S3-compatible service: a container is a bucket, as in LoopBack 3."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as count_from
from tempfile import TemporaryFile
from typing import IO, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.parsers import ResponseParserError
from werkzeug.exceptions import HTTPException

from app.errors import quote
from app.http.sent_files import OpenFile

from .errors import (
    ContainerExists,
    ContainerNotEmpty,
    ContainerNotFound,
    FileNotFound,
    InvalidName,
    StorageFull,
    StorageUnavailable,
    translated,
    unavailable,
)
from .s3_answers import BoundedSession
from .settings import StoreSettings
from .store import MAX_LISTED, Description, Listing, is_name, to_text

#: Bytes of a file sent to S3 at once, and kept in memory until then.
PART_BYTES = 8 * 1024 * 1024
#: Maximum files of a bucket deleted by one call, in 100 ms; S3 lists and deletes no more at once.
MAX_DESTROYED = 1000
#: Seconds to connect to S3.
CONNECT_TIMEOUT = 5
#: Maximum seconds without data from S3.
READ_TIMEOUT = 30
# Bytes of a file read from S3 at once.
BLOCK = 256 * 1024

# S3's error codes for missing and existing names, invalid names, and a quota.
ABSENT = {"404", "NoSuchBucket", "NoSuchKey", "NotFound"}
ERRORS: Mapping[str, Callable[[str], HTTPException]] = {
    "BucketAlreadyExists": ContainerExists,
    "BucketAlreadyOwnedByYou": ContainerExists,
    "BucketNotEmpty": ContainerNotEmpty,
    "InvalidBucketName": InvalidName,
    "XMinioStorageFull": lambda _: StorageFull(),
    "QuotaExceeded": lambda _: StorageFull(),
}
# Keys of S3's responses about an object, with their names for clients.
Answer = Mapping[str, Any]


@dataclass(frozen=True)
class S3File:
    """An object, as described by S3's headers."""

    client: Any
    container: str
    name: str
    size: int
    modified: float
    etag: str

    def part(self, start: int, count: int) -> OpenFile:
        """Copy a part of the object to an unnamed file, so that a slow client does not delay S3."""
        absent = FileNotFound(self.name)
        with translated(StorageUnavailable()), TemporaryFile() as file:
            if count:
                with _calls(absent, self.name):
                    self._copy(file, start, count)
            file.flush()
            return OpenFile(os.dup(file.fileno())).part(0, count)

    def _copy(self, file: IO[bytes], start: int, count: int) -> None:
        # Only the object whose size was stated.
        answer = self.client.get_object(
            Bucket=self.container,
            Key=self.name,
            Range=f"bytes={start}-{start + count - 1}",
            IfMatch=self.etag,
        )
        left = count
        for block in answer["Body"].iter_chunks(BLOCK):
            left -= len(block)
            if left < 0:
                break
            file.write(block)
        if left:
            raise unavailable("S3 sent another number of bytes than it said")


class S3Upload:
    """An upload in parts; S3 shows the object once it is complete."""

    def __init__(self, client: Any, container: str, name: str, options: Mapping[str, str]) -> None:
        self._client = client
        self._name = name
        self._target = {"Bucket": container, "Key": name}
        self._buffer = bytearray()
        self._parts: list[Description] = []
        self._numbers = count_from(1)
        self._is_open = False
        with _calls(ContainerNotFound(container), container):
            created = client.create_multipart_upload(**self._target, **options)
            self._target["UploadId"] = created["UploadId"]
        self._is_open = True

    def write(self, data: bytes) -> None:
        """Add bytes; raise StorageFull or StorageUnavailable."""
        self._buffer += data
        if len(self._buffer) >= PART_BYTES:
            self._send()

    def finish(self) -> None:
        """Send the last part, the only one that may be empty."""
        if self._buffer or not self._parts:
            self._send()

    def publish(self) -> Description | None:
        """Complete the upload; return S3's description of the object."""
        with self._calls():
            made = self._client.complete_multipart_upload(
                **self._target, MultipartUpload={"Parts": self._parts}
            )
            self._is_open = False
            return {
                "name": self._name,
                "etag": _etag(made),
                "container": self._target["Bucket"],
                "location": made.get("Location"),
            }

    def discard(self) -> None:
        """Abort the upload, unless it was completed."""
        self._buffer.clear()
        if self._is_open:
            with suppress(HTTPException), self._calls():
                self._client.abort_multipart_upload(**self._target)

    def _send(self) -> None:
        number = next(self._numbers)
        with self._calls():
            sent = self._client.upload_part(
                **self._target, PartNumber=number, Body=bytes(self._buffer)
            )
            self._parts.append({"ETag": sent["ETag"], "PartNumber": number})
        self._buffer.clear()

    @contextmanager
    def _calls(self) -> Iterator[None]:
        container = self._target["Bucket"]
        with _calls(ContainerNotFound(container), container):
            yield


class S3Store:
    """The buckets that the credentials can access."""

    def __init__(self, client: Any, options: Mapping[str, str]) -> None:
        self._client = client
        self._options = options

    @classmethod
    def open(cls, settings: StoreSettings, folder: str) -> "S3Store":
        """Return the store; no connection is opened before the first call.

        Without `keyId` and `key`, boto3 finds the credentials.
        """
        client = boto3.client(
            "s3",
            aws_access_key_id=settings.key_id,
            aws_secret_access_key=settings.key,
            region_name=settings.region or "us-east-1",
            endpoint_url=settings.endpoint,
            config=Config(
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=READ_TIMEOUT,
                retries={"total_max_attempts": 2, "mode": "standard"},
                s3={"addressing_style": "path" if settings.endpoint else "auto"},
                # Not all servers other than Amazon's support the newer checksums.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )
        client._endpoint.http_session = BoundedSession(client._endpoint.http_session)
        return cls(client, settings.options)

    def containers(self, after: str) -> Listing:
        """Return the buckets with names after a text."""
        with _calls(ContainerNotFound(""), ""):
            buckets = self._client.list_buckets()["Buckets"]
            names = sorted(bucket["Name"] for bucket in buckets if bucket["Name"] > after)
        items = [_bucket(name) for name in names[:MAX_LISTED]]
        return Listing(items, names[MAX_LISTED - 1] if len(names) > MAX_LISTED else None)

    def create_container(self, name: str) -> Description:
        """Create and return a bucket; raise ContainerExists."""
        region = self._client.meta.region_name
        # Amazon requires no location for its oldest region.
        place = {"CreateBucketConfiguration": {"LocationConstraint": region}}
        if self._exists(name):
            raise ContainerExists(name)
        with _calls(ContainerNotFound(name), name):
            self._client.create_bucket(Bucket=name, **({} if region == "us-east-1" else place))
        return _bucket(name)

    def container(self, name: str) -> Description:
        """Return a bucket; raise ContainerNotFound."""
        if not self._exists(name):
            raise ContainerNotFound(name)
        return _bucket(name)

    def destroy_container(self, name: str) -> None:
        """Delete a bucket with its files; raise ContainerNotFound or ContainerNotEmpty."""
        with _calls(ContainerNotFound(name), name):
            found = self._client.list_objects_v2(Bucket=name, MaxKeys=MAX_DESTROYED)
            if found["IsTruncated"]:
                raise ContainerNotEmpty(name)
            if objects := [{"Key": each["Key"]} for each in found.get("Contents", ())]:
                self._client.delete_objects(Bucket=name, Delete={"Objects": objects, "Quiet": True})
            self._client.delete_bucket(Bucket=name)

    def files(self, container: str, after: str) -> Listing:
        """Return the files with names after a text; none if the bucket does not exist."""
        try:
            with _calls(ContainerNotFound(container), container):
                found = self._client.list_objects_v2(
                    Bucket=container, Delimiter="/", StartAfter=after, MaxKeys=MAX_LISTED
                )
                return _page(container, found)
        except ContainerNotFound:
            return Listing([], None)

    def file(self, container: str, name: str) -> Description:
        """Return a file's metadata; raise FileNotFound."""
        with _calls(FileNotFound(name), name):
            head = self._head(container, name)
            return _object(container, name, head, head["ContentLength"])

    def remove_file(self, container: str, name: str) -> None:
        """Delete a file; raise FileNotFound."""
        with _calls(FileNotFound(name), name):
            self._head(container, name)
            self._client.delete_object(Bucket=container, Key=name)

    @contextmanager
    def read(self, container: str, name: str) -> Iterator[S3File]:
        """Return a file to be sent; raise FileNotFound."""
        with _calls(FileNotFound(name), name):
            head = self._head(container, name)
            size, modified = head["ContentLength"], head["LastModified"].timestamp()
            file = S3File(self._client, container, name, size, modified, _etag(head))
        yield file

    def upload(self, container: str, name: str, content_type: str) -> S3Upload:
        """Begin to store a file; raise ContainerNotFound."""
        options = {**self._options, "ContentType": content_type}
        return S3Upload(self._client, container, name, options)

    def _head(self, container: str, name: str) -> Answer:
        head: Answer = self._client.head_object(Bucket=container, Key=name)
        return head

    def _exists(self, name: str) -> bool:
        try:
            with _calls(ContainerNotFound(name), name):
                self._client.head_bucket(Bucket=name)
        except ContainerNotFound:
            return False
        return True


@contextmanager
def _calls(absent: HTTPException, name: str) -> Iterator[None]:
    """Translate S3's errors; `absent` is raised for missing objects."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in ABSENT:
            raise absent from None
        if code in ERRORS:
            raise ERRORS[code](name) from None
        # The text contains names, and perhaps more.
        raise unavailable(f"S3 answered {quote(code)}") from None
    except ParamValidationError:
        raise InvalidName(name) from None
    except (BotoCoreError, ResponseParserError) as error:
        raise unavailable(type(error).__name__) from None
    except (LookupError, TypeError, ValueError) as error:
        # S3's response lacks an expected key, or has another form.
        raise unavailable(f"S3 answered what cannot be used: {type(error).__name__}") from None


def _bucket(name: str) -> Description:
    return {"name": name, "isTruncated": False}


def _page(container: str, found: Answer) -> Listing:
    """Return the page of a list of objects."""
    objects = found.get("Contents", [])
    items = [
        _object(container, each["Key"], each, each["Size"])
        for each in objects
        if is_name(each["Key"])
    ]
    return Listing(items, _last(objects, found.get("CommonPrefixes", ()), found["IsTruncated"]))


def _object(container: str, name: str, found: Answer, size: int) -> Description:
    """Return what clients see of an object."""
    described = {
        "name": name,
        "etag": _etag(found),
        "lastModified": to_text(found["LastModified"].timestamp()),
        "size": size,
        "container": container,
        "storageClass": found.get("StorageClass"),
    }
    return {key: value for key, value in described.items() if value is not None}


def _etag(found: Answer) -> str:
    return str(found["ETag"]).strip('"')


def _last(objects: Iterable[Answer], prefixes: Iterable[Answer], more: bool) -> str | None:
    """Return the name after which S3 has more."""
    names = [*(each["Key"] for each in objects), *(each["Prefix"] for each in prefixes)]
    # Everything with this prefix comes before it.
    return max(f"{name}\uffff" if name.endswith("/") else name for name in names) if more else None
