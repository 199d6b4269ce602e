"""Runs of pytest on projects."""


def run_pytest(installed, folder, *arguments, **variables):
    """Run `pytest` in a folder, which is not on the path, with the wheel's plugin and xdist's."""
    # What a developer may have in the environment, and what the plugins of this suite set.
    variables = {"APP_TOKEN_TTL": "9", "DATABASE_URL": "nonsense:", **variables}
    # With it, the summary has whole messages.
    variables["CI"] = ""
    plugins = ("no:schemathesis", "no:hypothesispytest", "no:playwright", "no:cov")
    options = [part for plugin in plugins for part in ("-p", plugin)]
    return installed.run(
        "python", "-P", "-m", "pytest", *options, *arguments, cwd=folder, **variables
    )
