"""To-dos of the caller on Django REST framework, on the tables of Ostiary."""

import json
import os
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import django
from django.conf import settings

PLACE = urlsplit(os.environ["DATABASE_URL"])

settings.configure(
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    # Sends the length of each response.
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": parse_qs(PLACE.query)["host"][0],
            "NAME": PLACE.path.removeprefix("/"),
            "USER": PLACE.username,
            # As our pool does, connections are kept.
            "CONN_MAX_AGE": None,
        }
    },
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
        "UNAUTHENTICATED_USER": None,
    },
)
django.setup()

# Only after the setup can these be imported, and models defined.
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import models  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils.timezone import now  # noqa: E402
from rest_framework import authentication, exceptions, routers, serializers, viewsets  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402


class User(models.Model):
    """A user."""

    email = models.TextField()
    username = models.TextField(null=True)
    realm = models.TextField()
    email_verified = models.BooleanField()
    created = models.DateTimeField()
    is_authenticated = True

    class Meta:
        app_label, db_table, managed = "benchmarks", "users", False


class AccessToken(models.Model):
    """An access token."""

    digest = models.TextField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE)
    expires_at = models.DateTimeField()

    class Meta:
        app_label, db_table, managed = "benchmarks", "access_tokens", False


class Todo(models.Model):
    """A to-do."""

    title = models.TextField()
    desc = models.TextField(null=True)
    is_complete = models.BooleanField(default=False)
    created = models.DateTimeField(default=now)
    owner = models.ForeignKey(User, models.CASCADE)

    class Meta:
        app_label, db_table, managed = "benchmarks", "todos", False


class AccessTokenAuthentication(authentication.BaseAuthentication):
    """Finds the caller by the digest of the token, in one statement."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken]:
        """Return the caller and the token; raise AuthenticationFailed without one."""
        digest = sha256(request.headers["Authorization"].encode()).hexdigest()
        token = AccessToken.objects.select_related("user").filter(digest=digest).first()
        if token is None or token.expires_at <= now():
            raise exceptions.AuthenticationFailed
        return token.user, token


class Time(serializers.Field):
    """A time in ISO 8601 with milliseconds."""

    def to_representation(self, value: datetime) -> str:
        """Return the text of a time."""
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TodoSerializer(serializers.ModelSerializer):
    """A to-do in JSON."""

    isComplete = serializers.BooleanField(source="is_complete", default=False)
    created = Time(read_only=True)
    ownerId = serializers.IntegerField(source="owner_id", read_only=True)

    class Meta:
        model = Todo
        fields = "id", "title", "desc", "isComplete", "created", "ownerId"


class UserSerializer(serializers.ModelSerializer):
    """A user in JSON."""

    realm = serializers.SerializerMethodField()
    emailVerified = serializers.BooleanField(source="email_verified")
    created = Time()

    class Meta:
        model = User
        fields = "id", "email", "username", "realm", "emailVerified", "created"

    def get_realm(self, user: User) -> str | None:
        """Return the realm, None for the default one."""
        return user.realm or None


class TodoWithOwnerSerializer(TodoSerializer):
    """A to-do with its owner in JSON."""

    owner = UserSerializer()

    class Meta(TodoSerializer.Meta):
        fields = *TodoSerializer.Meta.fields, "owner"


class Todos(viewsets.ModelViewSet):
    """The calls of the caller's to-dos."""

    authentication_classes = (AccessTokenAuthentication,)
    serializer_class = TodoSerializer

    def get_queryset(self) -> Any:
        """Return the caller's to-dos."""
        return Todo.objects.filter(owner_id=self.request.user.id).order_by("id")

    def list(self, request: Request) -> Response:
        """List to-dos; read one more, which would tell of a next page."""
        wanted = json.loads(request.query_params["filter"])
        rows = self.get_queryset().filter(is_complete=wanted["where"]["isComplete"])
        total = {"X-Total-Count": str(rows.count())} if "count" in request.query_params else None
        serializer = self.get_serializer
        if "include" in wanted:
            rows, serializer = rows.prefetch_related("owner"), TodoWithOwnerSerializer
        found = [*rows[: wanted["limit"] + 1]]
        return Response(serializer(found[: wanted["limit"]], many=True).data, headers=total)

    def perform_create(self, serializer: TodoSerializer) -> None:
        """Create a to-do of the caller."""
        serializer.save(owner_id=self.request.user.id)


router = routers.SimpleRouter(trailing_slash=False)
router.register("todos", Todos, basename="todo")
urlpatterns = [path("api/", include(router.urls))]
app = get_wsgi_application()
