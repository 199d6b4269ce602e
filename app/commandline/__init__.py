"""The command `ostiary`: its commands that need no app, and those that start one."""
