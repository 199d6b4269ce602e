"""Mail: it is rendered and delivered by the outbox, outside requests.

A kind of mail is a folder `templates/mail/<kind>/` with `subject.txt`, `body.txt` and `body.html`.
The mails that follow events stand in `subscribers`, each with a list of its templates' variables;
`send` is for any other.
"""

from .service import send
from .subscribers import init_app

__all__ = ["init_app", "send"]
