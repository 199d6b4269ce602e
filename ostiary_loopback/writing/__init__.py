"""Writing the files of a project, for `ostiary loopback import`."""
