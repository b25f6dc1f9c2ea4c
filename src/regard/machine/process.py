"""Settings of the whole process for programs such as Regard's command line. Importing Regard does not change them."""

import os

set_by_regard: set[str] = set()  # the environment variables that `tune` has set in this process


def tune() -> None:
    """Set how OpenMP threads wait for each other; call it before torch or ctranslate2 is imported.

    Two CTranslate2 models in one process have more threads than there are cores. In this situation, OpenMP by default
    puts a waiting thread to sleep almost at once, and the translation of a sentence takes thirty times as long. With
    these settings, threads actively wait for a while before they go to sleep, as they do when there are enough cores.
    Values that the user has set are kept.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        waiting = {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "300000"}
        os.environ.update(waiting)
        set_by_regard.update(waiting)
