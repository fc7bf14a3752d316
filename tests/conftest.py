"""The same examples in every run, so that a failure is a change's and not luck's.
`HYPOTHESIS_PROFILE=explore pytest` looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("repeat", derandomize=True)
settings.register_profile("explore", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
