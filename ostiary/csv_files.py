"""CSV files for spreadsheets.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula. In an endpoint that
answers with CSV, texts that users have entered are protected, as in the service's own exports::

    import csv
    import io

    from ostiary.csv_files import protect


    def guest_list(guests):
        '''Return names and seats as CSV.'''
        text = io.StringIO()
        csv.writer(text).writerows((protect(name), seats) for name, seats in guests)
        return text.getvalue()
"""

from app.users.transfer.csv_files import protect

__all__ = ["protect"]
