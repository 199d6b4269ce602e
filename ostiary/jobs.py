"""Jobs: functions that run by a schedule, each in one process of all instances at a time.

They are functions of a module of the project, such as `project.py`, or imported by one::

    from ostiary.jobs import cron, every


    @every(minutes=15)
    def remind():
        '''Send the reminders that are due.'''


    @cron("0 3 * * *", zone="Europe/Berlin", lease=3600)
    def close_month():
        '''Runs once at night; a run takes less than an hour.'''

A call, as in a test, runs the function: `remind()`.
"""

from app.jobs import cron, every

__all__ = ["cron", "every"]
