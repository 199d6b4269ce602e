"""Mail: `send` queues it; it is rendered and delivered in the background, outside requests.

A kind of mail is a folder `templates/mail/<kind>/` with `subject.txt`, `body.txt` and `body.html`,
and one call of `send`. A call that follows an event stands in `subscribers`, with a list of its
templates' variables.
"""

from .service import send
from .subscribers import init_app

__all__ = ["init_app", "send"]
