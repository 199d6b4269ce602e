"""The commands of an app, which `flask` and `ostiary` have."""

# The modules of the commands, imported when they are called.
COMMANDS = {
    "db": "app.migrate.cli",
    "users": "app.factors.cli",
    "factors": "app.factors.cli",
    "tokens": "app.users.commands.tokens",
    "roles": "app.users.commands.roles",
    "audit": "app.users.commands.audit",
    "outbox": "app.outbox.cli",
    "datasources": "app.datasources.cli",
    "models": "app.projects.models_cli",
    "providers": "app.oauth.cli",
    "upgrade": "app.projects.upgrade",
    "fixtures": "app.projects.fixtures.cli",
}
