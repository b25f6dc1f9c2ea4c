"""From a model to text: search over any step function, and translators on the engine's road and on torch's."""

import os

# With two models in a process the engine has more threads than there are cores, and then they wait so impatiently for
# each other that a sentence takes thirty times as long. It must be said before the engine is imported; the number is
# the usual one, so that threads with nothing to do go to sleep as they always did.
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ.update(OMP_WAIT_POLICY="ACTIVE", GOMP_SPINCOUNT="300000")
