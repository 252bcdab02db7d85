"""python -m firmware_app is the command hey-echo."""

import sys

from firmware_app.cli import main

sys.exit(main())
