"""The receivers that docs/webhooks.md shows verify what is sent, and refuse what is not."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from app.webhooks.signing import signed_headers

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text()
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
BODY = b'{"type":"webhooks.test"}'


def example(language, text):
    """Return the example of a language that has this text."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(code for code in found if text in code)


def test_python():

    names = {}
    exec(example("python", "standardwebhooks"), names)
    headers = signed_headers([SECRET], "msg_1", int(time.time()), BODY)
    assert names["receive"](BODY, headers) == {"type": "webhooks.test"}
    with pytest.raises(Exception, match="No matching signature"):
        names["receive"](BODY + b" ", headers)


@pytest.mark.live
def test_javascript(tmp_path):
    headers = signed_headers(["whsec_b3RoZXI=", SECRET], "msg_1", 1767323045, BODY)
    given = json.dumps([SECRET, headers, BODY.decode()])
    called = f"const given = {given};\n" + (
        'console.log(isSigned(...given), isSigned(given[0], given[1], given[2] + " "));\n'
    )
    path = tmp_path / "receiver.mjs"
    path.write_text(example("js", "isSigned") + called)
    answer = subprocess.run(["node", path], check=True, capture_output=True, text=True)
    assert answer.stdout == "true false\n"
