"""Process-wide tuning for programs that run Regard, such as the command line. Importing Regard changes nothing."""

import os


def tune() -> None:
    """Set how OpenMP threads wait for each other; call it before torch or ctranslate2 is imported.

    Two CTranslate2 models in one process have more threads than there are cores. By default libgomp then hardly spins
    before it blocks, and a sentence takes thirty times as long. The policy ACTIVE makes it spin longer; the spin count
    is the usual default, so that idle threads still go to sleep. Values that the user has set are kept.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ.update(OMP_WAIT_POLICY="ACTIVE", GOMP_SPINCOUNT="300000")
