"""Moving a LoopBack 3 application over: the commands `ostiary loopback`."""
