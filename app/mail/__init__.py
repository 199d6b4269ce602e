"""Mail: it is rendered and delivered by the outbox, outside requests.

A kind of mail is a folder `templates/mail/<language>/<kind>/` with `subject.txt`, `body.txt` and,
if the HTML is not to be made from the text, `body.html`. `en` has what another language lacks.
The mails that follow events stand in `subscribers`, each with a list of its templates' variables;
`send` is for any other.
"""

from .service import send
from .subscribers import init_app

__all__ = ["init_app", "send"]
