"""What `ostiary loopback import` writes: the files of a project."""
