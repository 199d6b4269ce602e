"""Tests start the service often: its code is compiled once, whatever the environment says."""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
