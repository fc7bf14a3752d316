import sys

from ghost.cli import main

sys.exit(main())
