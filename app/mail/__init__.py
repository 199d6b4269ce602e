"""Mail, rendered and delivered by the outbox, outside of requests.

A kind of mail is a folder `templates/mail/<language>/<kind>/` with `subject.txt`, `body.txt` and,
unless the HTML is made from the text, `body.html`. Files that a language lacks are taken from `en`.
`subscribers` has the mails that follow events, with their templates' variables; `send` is for any
other mail.
"""

from .delivery import send
from .subscribers import init_app

__all__ = ["init_app", "send"]
