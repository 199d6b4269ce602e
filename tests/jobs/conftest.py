"""Fixtures: apps of a project with jobs, and what is stored of these."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from app.database.session import db
from app.jobs import claims, running
from app.jobs.declarations import jobs
from app.jobs.models import ScheduledJob
from app.times import now

# What `project.py` begins with; its jobs note their calls.
BEGIN = """
from threading import Event

from ostiary.jobs import cron, every

calls, begun, go_on = [], Event(), Event()


def init_app(app):
    pass

"""
REMIND = """
@every(minutes=15)
def remind():
    calls.append("remind")
"""
HOUR = timedelta(hours=1)


@pytest.fixture
def write_project(tmp_path):
    """Write `project.py` with this code; return its path."""

    def write(code):
        file = tmp_path / "project" / "project.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(BEGIN + code)
        return str(file)

    return write


@pytest.fixture
def start(make_app, write_project):
    """Start an app of a project with this code, and store its jobs as a server does."""

    def start(code=REMIND, **settings: Any):
        app = make_app(PROJECT_FILE=write_project(code), **settings)
        with app.app_context():
            claims.store(jobs.of(app))
        return app

    yield start
    # A thread that ends after its app is closed would leave a connection open.
    for thread in threading.enumerate():
        if thread.name == "jobs" or thread.name.startswith("job "):
            thread.join(60)
            assert not thread.is_alive(), thread.name


def project():
    """Return the module `project` of the app."""
    return __import__("project")


def stored(app, name="remind") -> Mapping[str, Any]:
    """Return the row of a job."""
    with app.app_context():
        row = db.session.execute(select(*ScheduledJob.__table__.c).filter_by(name=name)).one()
    return row._mapping


def change(app, name="remind", **values: Any) -> None:
    """Change the row of a job."""
    with app.app_context():
        chosen = update(ScheduledJob).where(ScheduledJob.name == name)
        db.session.execute(chosen.values(values))
        db.session.commit()


def make_due(app, name="remind", ago=HOUR) -> None:
    change(app, name, next_run=now() - ago)


def claim(app, name="remind"):
    """Claim a job if it is due; return the claim, or the seconds until it is due."""
    with app.app_context():
        return claims.claim_due({name: jobs.of(app)[name]}, ())


def run_due(app, name="remind"):
    """Run a job that is due; return its error."""
    found = claim(app, name)
    assert isinstance(found, claims.Claim), found
    return running.run(app, found)
