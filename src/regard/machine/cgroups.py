"""The control groups (cgroups) of this process, with which Linux limits the memory and CPU time of a container."""

from collections.abc import Iterator
from pathlib import Path

OF_THIS_PROCESS = Path("/proc/self/cgroup")

MOUNTED = Path("/sys/fs/cgroup")


def control_groups(
    controller: str, process: Path = OF_THIS_PROCESS, root: Path = MOUNTED
) -> Iterator[tuple[int, Path]]:
    """Yield the cgroup version and the folder of each group whose limits apply to this process, if there are any.

    `controller` is the name of a limited resource in version 1, `memory` or `cpu`. Folders may not exist.
    """
    try:
        lines = process.read_text("utf-8").splitlines()
    except OSError:
        return  # only Linux has cgroups
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            version, top = 2, root
        elif controller in controllers.split(","):
            version, top = 1, root / controller
        else:
            continue
        own = top / path.strip("/")
        # The limits of all parent groups apply too. In a container, `own` may be a path that exists only on the host;
        # the limits of the container are then in `top`.
        for group in (own, *own.parents):
            if group.is_relative_to(top):
                yield version, group
