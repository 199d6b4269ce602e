"""Sites with their shifts and teams, served with rules for who coordinates them."""

import pytest
from sqlalchemy import insert

from app.database.session import db
from app.rest.views.registration import check_relations, register_resource

from .sites import Assignment, Base, Coordinator, Shift, Site, Team, resources


@pytest.fixture
def make_served(make_app):
    """Make apps that serve resources, with the tables of sites, which are dropped at the end."""
    served = []

    def make(*resources):
        app = make_app()
        for resource in resources:
            register_resource(app, resource)
        check_relations(app)
        with app.app_context():
            Base.metadata.create_all(db.engine)
        served.append(app)
        return app

    yield make
    for app in served:
        with app.app_context():
            db.session.remove()
            Base.metadata.drop_all(db.engine)


@pytest.fixture
def serve(make_served, api, token):
    """Serve the sites. Ada is 1 and coordinates the sites 1 and 3, Bob is 2 and coordinates 2.

    The shifts 1 and 2 are at site 1, and 3 is at site 2. The team 1 is at site 1.
    """
    bob = api.logged_in("bob@example.com")
    callers = {"ada": token, "bob": bob}

    def serve(*rules, change=lambda resource: resource, **options):
        app = make_served(*map(change, resources(*rules, **options)))
        with app.app_context():
            db.session.execute(insert(Site), [{"name": name} for name in "abc"])
            coordinators = [{"site_id": site, "user_id": 2 - site % 2} for site in (1, 2, 3)]
            db.session.execute(insert(Coordinator), coordinators)
            shifts = [{"title": "s", "site_id": site, "owner_id": 2} for site in (1, 1, 2)]
            db.session.execute(insert(Shift), shifts)
            db.session.execute(insert(Team), [{"name": "t"}, {"name": "u"}])
            db.session.execute(insert(Assignment), [{"site_id": 1, "team_id": 1}])
            db.session.commit()

        def call(verb, path, body=None, caller="ada"):
            headers = {"Authorization": callers[caller]}
            return app.test_client().open(f"/api{path}", method=verb, json=body, headers=headers)

        call.app, call.tokens = app, callers
        return call

    return serve
