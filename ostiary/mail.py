"""Mails of a project's own kinds.

A kind is a folder of templates in the project, `templates/mail/en/overdue/` with `subject.txt` and
`body.txt`; the HTML is made from the text, unless there is a `body.html`. The outbox sends the mail
after the commit, and tries again if it fails::

    from ostiary import mail


    def remind(user, titles):
        mail.send("overdue", user.email, {"titles": titles}, language="de")
"""

from app.mail import send

__all__ = ["send"]
