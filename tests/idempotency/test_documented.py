"""The examples of docs/idempotency.md."""

import os
import re
import sys
from pathlib import Path

import pytest
import requests

from tests.support.documents import blocks, run_shell
from tests.support.live import newcomer, serve

pytestmark = pytest.mark.live


def test_the_documented_calls_have_the_documented_answers(sqlite_url, tmp_path):
    setting, calls = blocks("docs/idempotency.md", "sh")
    [(name, value)] = re.findall(r"^(APP_\w+)=(\d+)$", setting, re.MULTILINE)

    with serve(tmp_path, sqlite_url, **{name: value}) as server:
        headers = newcomer(server.url, "ada@example.com")
        code = calls.replace("http://127.0.0.1:3000", server.url)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        said, printed, shown = run_shell(code, tmp_path, PATH=path, TOKEN=headers["Authorization"])
        todos = requests.get(f"{server.url}/api/todos", headers=headers, timeout=60).json()

    assert said == printed
    assert len(todos) == 1
    assert shown.lower().count("idempotency-replayed: true") == 1
