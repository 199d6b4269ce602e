"""A hello world: what Flask and gunicorn cost by themselves, without a database."""

from flask import Flask, Response, jsonify

from app import config, hash_slots

app = Flask(__name__)
# The project's gunicorn worker reads settings, and starts the outbox, the purges and the queue.
config.configure(app, None)
app.config["OUTBOX_IN_PROCESS"] = False
hash_slots.init_app(app)
TODO = {
    "id": 1,
    "title": "Buy milk",
    "desc": None,
    "isComplete": False,
    "created": "2026-01-02T03:04:05.678Z",
    "ownerId": 1,
}


@app.get("/api/todos/<int:id>")
def find_by_id(id: int) -> Response:
    """Show the only to-do there is."""
    return jsonify(TODO)


@app.post("/api/todos")
def create() -> Response:
    """Pretend to create a to-do."""
    return jsonify(TODO)
