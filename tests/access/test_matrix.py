"""Every route of every declared endpoint with every kind of caller, and the expected status."""

import json
import re
from datetime import timedelta

import pyotp
import pytest
from cryptography.fernet import Fernet
from sqlalchemy import delete

from app.access.roles import Role, RoleMapping
from app.access.rules import READ
from app.database.session import db
from app.factors.mailed_login.service import LOGIN_SCOPE, LoginCode, derive_code
from app.factors.models import Factor, LoginTicket, RecoveryCode
from app.factors.passkeys.ceremonies import user_handle
from app.factors.passkeys.models import Passkey, PasskeyChallenge
from app.factors.personal_tokens.service import new_value
from app.oauth.models import ExternalIdentity
from app.outbox.models import Delivery, OutboxEvent
from app.rest.endpoint import served_endpoints
from app.throttles import Throttle
from app.times import now
from app.todos.models import Todo
from app.users.accounts.removal import disable_user
from app.users.models import (
    CODE_SCOPE,
    PERSONAL_SCOPE,
    PROVED_SCOPE,
    RESET_SCOPE,
    TICKET_SCOPE,
    VERIFY_SCOPE,
    AccessToken,
    User,
    new_token_values,
    token_digest,
)
from app.users.passwords.hashing import hash_password
from tests.conftest import PASSWORD, Api
from tests.support.passkeys import Authenticator, creation_options, request_options
from tests.support.rows import populate

# High enough that what a call creates never has the same.
OWNER, OTHER, CLERK, ADMIN, DELETED, DISABLED, SERVICE = 1001, 1002, 1003, 1004, 1005, 1006, 1007
TODO = 2001
# The default of TOKEN_TTL.
MAX_TTL = 1209600
HANDLE = "0123456789abcdef"

# The callers, in the order of the columns below. The clerk has a role that no rule speaks of; the
# token of "capped" was used until its longest life from the login was over.
BASIC = [
    *("anonymous", "owner", "other", "clerk", "admin"),
    *("expired", "reset", "verification", "deleted", "disabled", "capped"),
]
# Callers who may do what the owner may: with a session of several factors; with a personal token
# for everything, unless the endpoint is for sessions only; with one whose scopes name nothing here.
# And a service account, which may do what another user may with such a token; and who is halfway
# through a login, with a ticket, which opens what the token of a verification does: nothing.
CALLERS = [*BASIC, "strong", "personal", "unscoped", "service", "halfway"]
# The scopes of the tokens that are no logins, and those of the personal ones.
SCOPES = {"reset": RESET_SCOPE, "verification": VERIFY_SCOPE, "halfway": TICKET_SCOPE}
SCOPES |= dict.fromkeys(("personal", "unscoped", "service"), PERSONAL_SCOPE)
WORDS = {
    "personal": {"todos": ["*"], "users": ["*"]},
    "unscoped": {"audit": ["*"], "gone": ["*"]},
    "service": {"todos": ["*"], "users": ["*"]},
}

PEOPLE = {
    "owner": OWNER,
    "other": OTHER,
    "clerk": CLERK,
    "admin": ADMIN,
    "deleted": DELETED,
    "disabled": DISABLED,
    "service": SERVICE,
}
TOKENS = {name: name * 8 for name in CALLERS} | {"anonymous": None}
TOKENS |= {name: new_value() for name in WORDS}

OPEN = [200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200]
LOGGED_IN = [401, 200, 200, 200, 200, 401, 401, 401, 401, 401, 401]
OWN_ROW = [401, 200, 404, 404, 200, 401, 401, 401, 401, 401, 401]
OWN_RECORD = [401, 200, 403, 403, 200, 401, 401, 401, 401, 401, 401]
OWN_SESSION = [401, 200, 403, 403, 403, 401, 401, 401, 401, 401, 401]
ADMINS = [401, 403, 403, 403, 200, 401, 401, 401, 401, 401, 401]
# Of admins, the remote service is not there.
REMOTE = [401, 403, 403, 403, 502, 401, 401, 401, 401, 401, 401]
RESET = [401, 401, 401, 401, 401, 401, 200, 401, 401, 401, 401]
# The code of others is wrong.
OWN_CODE = [401, 200, 422, 422, 422, 401, 401, 401, 401, 401, 401]
# By verb, where the routes of an endpoint answer differently.
SAID_OF_ALL = {"GET": LOGGED_IN, "HEAD": OWN_ROW}

NEW_TODO = {"title": "New"}
COUNTING = {"requests": [{"method": "GET", "path": "/todos/count"}]}
NEW_USER = {"email": "new@example.com", "password": PASSWORD}
KNOWN_TODO = {**NEW_TODO, "id": TODO}
CREDENTIALS = {"email": "owner@example.com", "password": PASSWORD}
NEW_PASSWORD = {"newPassword": "another quiet harbour"}
CODE_KEY, TICKET, EMAIL_CODE = "k" * 32, "ticket" * 8, "abcd-efgh-ijkl"
LOGIN_CODE = {"ticket": TICKET, "code": derive_code(CODE_KEY, token_digest(TICKET))}
NEW_EMAIL = {"newEmail": "new@example.com", "password": PASSWORD}

# What the declaration of an endpoint does not say: what each caller gets, and a body that works;
# an endpoint may be called with several.
EXPECTED = {
    "todos.create": [(LOGGED_IN, NEW_TODO)],
    "todos.createMany": [(LOGGED_IN, [NEW_TODO])],
    "todos.find": [(LOGGED_IN, None)],
    "todos.findOne": [(OWN_ROW, None)],
    "todos.count": [(LOGGED_IN, None)],
    "todos.aggregate": [(LOGGED_IN, None)],
    "todos.findById": [(OWN_ROW, None)],
    "todos.exists": [(SAID_OF_ALL, None)],
    "todos.patchAttributes": [(OWN_ROW, NEW_TODO)],
    "todos.replaceById": [(OWN_ROW, NEW_TODO)],
    "todos.deleteById": [(OWN_ROW, None)],
    # A row that does not exist has no owner.
    "todos.patchOrCreate": [(OWN_ROW, KNOWN_TODO), (ADMINS, NEW_TODO)],
    "todos.replaceOrCreate": [(OWN_ROW, KNOWN_TODO), (ADMINS, NEW_TODO)],
    "todos.upsertWithWhere": [(OWN_RECORD, NEW_TODO)],
    "todos.updateAll": [(LOGGED_IN, NEW_TODO)],
    "todos.__get__owner": [(OWN_ROW, None)],
    "users.create": [(OPEN, NEW_USER)],
    "users.login": [(OPEN, CREDENTIALS)],
    "users.requestLoginCode": [(OPEN, {"email": "owner@example.com"})],
    "users.loginByCode": [(OPEN, LOGIN_CODE)],
    "users.logout": [(LOGGED_IN, None)],
    "users.resetPassword": [(OPEN, {"email": "owner@example.com"})],
    "users.setPassword": [(RESET, NEW_PASSWORD)],
    "users.changePassword": [(LOGGED_IN, {"oldPassword": PASSWORD, **NEW_PASSWORD})],
    "users.changeEmail": [(LOGGED_IN, NEW_EMAIL)],
    "users.requestEmailCode": [(LOGGED_IN, {})],
    "users.confirmEmailCode": [(OWN_CODE, {"code": EMAIL_CODE})],
    "users.verify": [(OPEN, None)],
    "users.confirm": [(OPEN, None)],
    "users.find": [(ADMINS, None)],
    "users.findOne": [(ADMINS, None)],
    "users.count": [(ADMINS, None)],
    "users.aggregate": [(ADMINS, None)],
    "users.findById": [(OWN_RECORD, None)],
    "users.exists": [(OWN_RECORD, None)],
    "users.patchAttributes": [(OWN_RECORD, {"username": "x"})],
    "users.replaceById": [(OWN_RECORD, {"email": "owner@example.com"})],
    "users.deleteById": [(OWN_RECORD, None)],
    "users.patchOrCreate": [(ADMINS, NEW_USER)],
    "users.replaceOrCreate": [(ADMINS, NEW_USER)],
    "users.upsertWithWhere": [(ADMINS, {"username": "x"})],
    "users.updateAll": [(ADMINS, {"username": "x"})],
    "users.__get__accessTokens": [(OWN_RECORD, None)],
    "users.__destroyById__accessTokens": [(OWN_RECORD, None)],
    "users.__delete__accessTokens": [(OWN_RECORD, None)],
    "users.__get__audit": [(OWN_RECORD, None)],
    "users.reauthenticate": [(OWN_SESSION, {"password": PASSWORD})],
    "users.__create__personalTokens": [(OWN_SESSION, {"name": "x", "scopes": {"todos": ["READ"]}})],
    "users.createServiceAccount": [(ADMINS, {"email": "robot@example.com"})],
    "users.findServiceAccounts": [(ADMINS, None)],
    "users.__get__personalTokens": [(OWN_RECORD, None)],
    "users.__findById__personalTokens": [(OWN_RECORD, None)],
    "users.__destroyById__personalTokens": [(OWN_RECORD, None)],
    "users.__get__identities": [(OWN_RECORD, None)],
    "users.__destroyById__identities": [(OWN_RECORD, None)],
    "users.__get__todos": [(OWN_RECORD, None)],
    "users.__create__todos": [(OWN_RECORD, NEW_TODO)],
    "users.__count__todos": [(OWN_RECORD, None)],
    "users.__aggregate__todos": [(OWN_RECORD, None)],
    "users.__findById__todos": [(OWN_RECORD, None)],
    "users.__updateById__todos": [(OWN_RECORD, NEW_TODO)],
    "users.__destroyById__todos": [(OWN_RECORD, None)],
    "users.__delete__todos": [(OWN_RECORD, None)],
    "users.disable": [(ADMINS, None)],
    "users.enable": [(ADMINS, None)],
    "users.sendReset": [(ADMINS, None)],
    "users.markVerified": [(ADMINS, None)],
    # The rules for its calls decide.
    "batch.run": [(LOGGED_IN, COUNTING)],
    "admin.access": [(LOGGED_IN, None)],
    "admin.findModels": [(ADMINS, None)],
    "admin.findModelById": [(ADMINS, None)],
    "admin.findUsers": [(ADMINS, None)],
    "admin.findUserById": [(ADMINS, None)],
    "admin.findUserRoles": [(ADMINS, None)],
    "admin.grantRole": [(ADMINS, None)],
    "admin.revokeRole": [(ADMINS, None)],
    "admin.findRoles": [(ADMINS, None)],
    "admin.createRole": [(ADMINS, {"name": "new"})],
    "admin.deleteRole": [(ADMINS, None)],
    "admin.findMembers": [(ADMINS, None)],
    "admin.findAudit": [(ADMINS, None)],
    "admin.findOutbox": [(ADMINS, None)],
    "admin.retryDelivery": [(ADMINS, None)],
    "admin.giveUpDelivery": [(ADMINS, None)],
    "admin.findJobs": [(ADMINS, None)],
    "admin.runJob": [(ADMINS, None)],
    "admin.findThrottles": [(ADMINS, None)],
    "admin.releaseThrottle": [(ADMINS, None)],
    "admin.findDataSources": [(ADMINS, None)],
    "admin.callDataSource": [(REMOTE, {})],
    "admin.findProviders": [(ADMINS, None)],
    "admin.findSettings": [(ADMINS, None)],
    "admin.state": [(ADMINS, None)],
}
# The same for endpoints that COMPATIBILITY adds, or changes the answer of.
COMPATIBLE = {
    "users.__get__accessTokens": [(OWN_RECORD, None)],
    "users.__count__accessTokens": [(OWN_RECORD, None)],
    "users.__findById__accessTokens": [(OWN_RECORD, None)],
}
# The same for endpoints that SECOND_FACTOR adds; a body that depends on the time is a function.
TOTP_SECRET, FACTOR_KEY = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", Fernet.generate_key().decode()
RECOVERY_CODE, FIRST_STEP, ENROLMENT = "abcdef" * 4, "first" * 8, "enrol" * 8
RECOVERY = {"kind": "recovery", "code": RECOVERY_CODE}
WITH_FACTORS = {
    "users.loginWithFactor": [(OPEN, {"ticket": FIRST_STEP, **RECOVERY})],
    "users.enrolAtLogin": [(OPEN, {"ticket": ENROLMENT, "kind": "totp"})],
    "users.__create__factors": [(OWN_SESSION, {"name": "phone"})],
    "users.confirmFactor": [(OWN_SESSION, lambda: {"code": pyotp.TOTP(TOTP_SECRET).now()})],
    "users.__get__factors": [(OWN_RECORD, None)],
    "users.__destroyById__factors": [(OWN_SESSION, RECOVERY)],
    "users.__delete__factors": [(ADMINS, None)],
    "users.__create__recoveryCodes": [(OWN_SESSION, None)],
    "users.__get__recoveryCodes": [(OWN_RECORD, None)],
}
# The same for endpoints that PASSKEYS adds.
ORIGIN, PARTY = "http://localhost:3000", "localhost"
AUTHENTICATOR, LOGIN_CHALLENGE, NEW_CHALLENGE = Authenticator(ORIGIN), b"login" * 6, b"new" * 6
HANDLE_OF_OWNER = user_handle(PARTY, OWNER)
WITH_PASSKEYS = {
    "users.passkeyLoginOptions": [(OPEN, None)],
    "users.loginByPasskey": [
        (OPEN, lambda: {"credential": AUTHENTICATOR.sign(request_options(LOGIN_CHALLENGE, PARTY))})
    ],
    "users.passkeyOptions": [(OWN_SESSION, None)],
    "users.__create__passkeys": [
        (
            OWN_SESSION,
            lambda: {
                "credential": Authenticator(ORIGIN).make(
                    creation_options(NEW_CHALLENGE, PARTY, HANDLE_OF_OWNER)
                )
            },
        )
    ],
    "users.__get__passkeys": [(OWN_RECORD, None)],
    "users.__updateById__passkeys": [(OWN_RECORD, {"name": "key"})],
    "users.__destroyById__passkeys": [(OWN_SESSION, {})],
    "users.__delete__factors": [(ADMINS, None)],
}
# Routes under the base path that are no endpoints of a model.
UNDECLARED = {("openapi.document", "GET"), ("api_status.status", "GET")}

# The row that a path or a `where` means, by model, and the arguments of paths beside it.
ROWS = {"todos": TODO, "users": OWNER, "admin": OWNER, "batch": TODO}
WHERE = {"todos": f'{{"id": {TODO}}}', "users": f'{{"id": {OTHER}}}'}
ARGUMENTS = {"fk": TODO, "handle": HANDLE, "role": "clerk", "name": "clerk"}
ARGUMENTS |= {"throttle": "registration", "key": "k" * 64, "function": "find"}
# Those of single endpoints.
EVENT, FAILED_DELIVERY, PENDING_DELIVERY = 3000, 3001, 3002
OWN_ARGUMENTS = {
    "admin.findModelById": {"name": "todos"},
    "admin.callDataSource": {"name": "geo"},
    "admin.runJob": {"name": "purge-expired"},
    "admin.revokeRole": {"id": CLERK},
    "admin.retryDelivery": {"id": FAILED_DELIVERY},
    "admin.giveUpDelivery": {"id": PENDING_DELIVERY},
}
# A data source whose remote is not there.
TEMPLATE = {"method": "GET", "url": "http://127.0.0.1:1/x"}
GEO = {"connector": "rest", "operations": [{"template": TEMPLATE, "functions": {"find": []}}]}
# Queries that work, where one is needed.
CONFIRM = "users.confirm"
QUERIES = {CONFIRM: {"uid": OWNER, "token": TOKENS["verification"]}}
AGGREGATE = {"filter": json.dumps({"aggregate": {"rows": {"count": "*"}}})}
QUERIES |= {name: AGGREGATE for name in EXPECTED if "aggregate" in name}


@pytest.fixture
def app(shared_app, database_url):
    """An app with every endpoint, which prolongs tokens that are used.

    On one of the databases it serves users at another path.
    """
    return shared_app(
        USERS_PATH="Accounts" if database_url.startswith("sqlite") else "users",
        EMAIL_VERIFICATION="optional",
        EMAIL_CHANGE="confirmed",
        EMAIL_LOGIN=True,
        LOGIN_CODE_KEYS=[CODE_KEY],
        PERSONAL_TOKENS={},
        TOKEN_SLIDING=True,
        TOKEN_MAX_TTL=MAX_TTL,
        PROVIDERS={"gitlab": {"clientID": "ostiary"}},
        DATA_SOURCES={"geo": GEO},
    )


@pytest.fixture
def database(databases, database_url):
    return databases[database_url]


@pytest.mark.parametrize("name", EXPECTED)
def test_every_caller_gets_the_expected_status(app, api, database, name):
    check(app, api, database, name, EXPECTED[name])


@pytest.mark.parametrize("name", COMPATIBLE)
def test_every_caller_gets_the_expected_status_from_what_loopback_has_too(
    shared_app, secrets, database, name
):
    app = shared_app(COMPATIBILITY="loopback3", ACL_ERROR_STATUS=403, PERSONAL_TOKENS={})

    check(app, Api(app.test_client(), secrets), database, name, COMPATIBLE[name])
    assert served_endpoints.of(app).keys() - EXPECTED.keys() <= COMPATIBLE.keys()


@pytest.mark.parametrize("name", WITH_FACTORS)
def test_every_caller_gets_the_expected_status_about_second_factors(
    shared_app, secrets, database, name
):
    app = shared_app(SECOND_FACTOR="optional", FACTOR_KEYS=[FACTOR_KEY], PERSONAL_TOKENS={})

    check(
        app, Api(app.test_client(), secrets), database, name, WITH_FACTORS[name], world_of_factors
    )
    assert served_endpoints.of(app).keys() - EXPECTED.keys() == WITH_FACTORS.keys()


@pytest.mark.parametrize("name", WITH_PASSKEYS)
def test_every_caller_gets_the_expected_status_about_passkeys(shared_app, secrets, database, name):
    app = shared_app(PASSKEYS={}, PUBLIC_URL=ORIGIN, PERSONAL_TOKENS={})

    check(
        app, Api(app.test_client(), secrets), database, name, WITH_PASSKEYS[name], world_of_passkeys
    )
    assert served_endpoints.of(app).keys() - EXPECTED.keys() == WITH_PASSKEYS.keys()


def check(app, api, database, name, expectations, world=None):
    endpoint, model = served_endpoints.of(app)[name], name.partition(".")[0]
    query = {"where": WHERE[model]} if endpoint.query == "where!" else QUERIES.get(name, {})
    collection = app.config["USERS_PATH"] if model == "users" else model
    changes = endpoint.access != READ or name == CONFIRM
    lay_out(app, world)
    laid_out = database.rows()

    for route in endpoint.routes:
        path = f"/{collection}{filled(route.path, name)}"
        for expected, body in expectations:
            expected = expected[route.verb] if isinstance(expected, dict) else expected
            owner, other = expected[BASIC.index("owner")], expected[BASIC.index("other")]
            halfway = expected[BASIC.index("verification")]
            personal = [403, 403] if endpoint.session_only else [owner, other]
            expected = [*expected, owner, personal[0], 403, personal[1], halfway]
            expected = [endpoint.success if status == 200 else status for status in expected]
            given = {}
            for caller in CALLERS:
                sent = body() if callable(body) else body
                given[caller] = status(api, caller, route.verb, path, sent, query)
                # What a refused call changes all the same, the next callers get to see.
                if changes and given[caller] < 400:
                    database.restore(laid_out)

            assert (route.verb, path, given) == (route.verb, path, by_caller(expected))


@pytest.mark.parametrize(
    ("verb", "path", "expected"),
    [("GET", "/openapi.json", OPEN), ("GET", "/", OPEN)],
)
def test_every_caller_gets_the_expected_status_on_undeclared_routes(app, api, verb, path, expected):
    lay_out(app)

    given = {caller: status(api, caller, verb, path) for caller in CALLERS}

    assert given == by_caller([*expected, 200, 200, 200, 200, 200])


def test_every_route_is_declared_and_every_endpoint_has_its_expectation(app):
    root, declared = app.config["REST_API_ROOT"], served_endpoints.of(app)
    routes = {
        (rule.endpoint, verb)
        for rule in app.url_map.iter_rules()
        if str(rule).startswith(root)
        for verb in rule.methods - {"HEAD", "OPTIONS"}
    }

    assert declared.keys() - EXPECTED.keys() == set()
    assert EXPECTED.keys() - declared.keys() == set()
    assert routes - UNDECLARED == {
        (name, route.verb)
        for name, endpoint in declared.items()
        for route in endpoint.routes
        if route.verb != "HEAD"
    }


def filled(path, name):
    """Put values in the place of the arguments of an endpoint's path."""
    own = OWN_ARGUMENTS.get(name, {})
    arguments = {"id": ROWS[name.partition(".")[0]], **ARGUMENTS, **own}
    return re.sub(r"<(\w+)>", lambda match: str(arguments[match[1]]), path)


def status(api, caller, verb, path, body=None, query=None):
    """Let a caller call; return the status."""
    response = api(verb, path, body, token=TOKENS[caller], query_string=query)
    if caller in ("expired", "capped") and response.status_code == 401 and verb != "HEAD":
        assert response.json["error"]["code"] == "INVALID_TOKEN"
    return response.status_code


def by_caller(statuses):
    return dict(zip(CALLERS, statuses, strict=True))


def lay_out(app, world=None):
    """Lay out the same small world, from which one user has gone, and one is disabled."""
    with app.app_context():
        # The only rows that are not deleted with the users.
        for model in (LoginCode, PasskeyChallenge, OutboxEvent, Throttle):
            db.session.execute(delete(model))
        db.session.commit()
    populate(app, world or small_world)
    with app.app_context():
        db.session.execute(delete(User).where(User.id == DELETED))
        db.session.commit()
        disable_user(DISABLED)


def small_world():
    """Make the users with their roles and tokens, and a to-do."""
    password_hash = hash_password(PASSWORD)
    for name, user_id in PEOPLE.items():
        own = {"service_account": True} if name == "service" else {"password_hash": password_hash}
        yield User(id=user_id, email=f"{name}@example.com", email_verified=True, **own)
    yield from (Role(id=4001, name="clerk"), Role(id=4002, name="admin"))
    yield RoleMapping(user_id=CLERK, role_id=4001)
    yield RoleMapping(user_id=ADMIN, role_id=4002)
    yield Todo(id=TODO, title="Hers", owner_id=OWNER)
    names = {"provider": "github", "issuer": "https://github.com", "subject": "1"}
    yield ExternalIdentity(id=TODO, user_id=OWNER, profile={}, **names)
    ticket = new_token_values(TICKET, 600, scope=LOGIN_SCOPE, email="owner@example.com")
    yield AccessToken(user_id=OWNER, **ticket)
    yield LoginCode(ticket_digest=ticket["digest"], expires_at=ticket["expires_at"])
    code = new_token_values(EMAIL_CODE, 600, scope=CODE_SCOPE, email="owner@example.com")
    yield AccessToken(user_id=OWNER, **code)
    # Whoever has personal tokens proves a new address.
    proved = {"scope": PROVED_SCOPE, "email": NEW_EMAIL["newEmail"]}
    yield AccessToken(user_id=OWNER, **new_token_values("proved", 600, **proved))
    yield from map(token_of, CALLERS[1:])
    end = now() + timedelta(seconds=600)
    uses = {"count": 1, "started": now(), "blocked_until": end, "expires_at": end}
    yield Throttle(name="registration", digest=ARGUMENTS["key"], **uses)
    yield OutboxEvent(id=EVENT, event="emailChanged", data={}, lifetime=600.0, deadline=end)
    # So late that nobody attempts it.
    waits = {"event_id": EVENT, "subscriber": "mail", "next_attempt": now() + timedelta(seconds=50)}
    yield Delivery(id=FAILED_DELIVERY, state="failed", **waits)
    yield Delivery(id=PENDING_DELIVERY, **waits)


def world_of_factors():
    """Make the same, with an authenticator app of the owner, and one that is to be confirmed."""
    for row in small_world():
        # Logins of the owner take the factor.
        if isinstance(row, AccessToken) and row.user_id == OWNER and row.scope is None:
            row.methods = "pwd,otp,mfa"
        yield row
    names = {"user_id": OWNER, "secret": Fernet(FACTOR_KEY).encrypt(TOTP_SECRET.encode()).decode()}
    yield Factor(id=TODO, confirmed_at=now(), **names)
    yield Factor(id=TODO + 1, **names)
    yield RecoveryCode(digest=token_digest(RECOVERY_CODE), user_id=OWNER)
    for ticket, user_id in ((FIRST_STEP, OWNER), (ENROLMENT, CLERK)):
        values = new_token_values(ticket, 300, scope=TICKET_SCOPE)
        yield AccessToken(user_id=user_id, **values)
        first = {"ttl": 60, "remember_me": True, "methods": ["pwd"]}
        yield LoginTicket(digest=values["digest"], first_step=first, enrols=user_id == CLERK)


def world_of_passkeys():
    """Make the same, with a passkey of the owner, and challenges that were given."""
    yield from small_world()
    AUTHENTICATOR.make(creation_options(NEW_CHALLENGE, PARTY, HANDLE_OF_OWNER))
    key = {"credential_id": AUTHENTICATOR.id, "public_key": AUTHENTICATOR.public_key}
    state = {"sign_count": 0, "transports": [], "backup_eligible": False, "backed_up": False}
    yield Passkey(id=TODO, user_id=OWNER, **key, **state)
    end = now() + timedelta(seconds=60)
    for challenge, user_id in ((LOGIN_CHALLENGE, None), (NEW_CHALLENGE, OWNER)):
        digest = token_digest(challenge.hex())
        yield PasskeyChallenge(digest=digest, user_id=user_id, expires_at=end)


def token_of(caller):
    scope, user = SCOPES.get(caller), PEOPLE.get(caller, OWNER)
    email = scope and "owner@example.com"
    values = new_token_values(TOKENS[caller], 600, scope=scope, email=email)
    row = AccessToken(user_id=user, **values)
    if caller in ("owner", "personal"):
        row.handle = HANDLE
    if caller == "strong":
        row.methods = "pwd,otp,mfa"
    if caller in WORDS:
        row.scopes = json.dumps(WORDS[caller])
    if caller == "expired":
        row.expires_at = now() - timedelta(seconds=1)
    if caller == "capped":
        row.last_used = now() - timedelta(seconds=30)
        row.expires_at = now() - timedelta(seconds=1)
        row.created = row.expires_at - timedelta(seconds=MAX_TTL)
    return row
