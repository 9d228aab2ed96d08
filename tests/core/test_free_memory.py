"""How much memory may be taken, from the texts of real machines, and under a real limit."""

import subprocess
import sys

import pytest

from unhub.executors import free_memory
from unhub.executors.free_memory import least_left
from unhub.executors.local import LEAST_MEMORY, default_memory, usable

GB = 1 << 30
MEMINFO = "MemTotal:       65805468 kB\nMemFree:         1804596 kB\nMemAvailable:   41943040 kB\nBuffers: 1 kB\n"
AVAILABLE, PHYSICAL = 40 * GB, 64 * GB
UNLIMITED = "9223372036854771712\n"

# as systemd mounts version 2
SECOND = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
# as Docker shows version 1 to a container: only its own group, as if it were the topmost
DOCKER_GROUP = "/docker/5f0e"
DOCKER = (
    f"712 700 0:29 {DOCKER_GROUP} /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:15 - cgroup cgroup"
    " rw,memory\n"
    f"713 700 0:30 {DOCKER_GROUP} /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
)
# version 1 for memory with version 2 beside it
HYBRID = (
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)


def left(texts, limits=None):
    """What may still be taken on a machine with these texts."""
    return least_left(({"/proc/meminfo": MEMINFO} | texts).get, limits or {}, PHYSICAL)


def test_a_machine_without_groups():
    assert left({}) == AVAILABLE
    assert least_left({}.get, {}, PHYSICAL) == PHYSICAL


def second(group, files, mounts=SECOND):
    return {"/proc/self/cgroup": f"0::{group}\n", "/proc/self/mountinfo": mounts} | {
        f"/sys/fs/cgroup{name}": text for name, text in files.items()
    }


def test_version_2_in_a_container():
    files = {"/memory.max": f"{4 * GB}\n", "/memory.high": "max\n", "/memory.current": f"{GB}\n"}
    assert left(second("/", files)) == 3 * GB


def test_version_2_without_a_limit():
    files = {"/memory.max": "max\n", "/memory.high": "max\n", "/memory.current": f"{GB}\n"}
    assert left(second("/", files)) == AVAILABLE


def test_version_2_slows_down_from_high_on():
    files = {"/memory.max": f"{8 * GB}\n", "/memory.high": f"{2 * GB}\n", "/memory.current": f"{GB}\n"}
    assert left(second("/", files)) == GB


def test_version_2_counts_every_group_above():
    """systemd-run --scope -p MemoryMax=: the limit stands on a parent, the process is in a child without one."""
    group = "/user.slice/user-1000.slice/run-r1.scope"
    files = {
        f"{group}/memory.max": "max\n",
        f"{group}/memory.current": "1000\n",
        "/user.slice/user-1000.slice/memory.max": f"{6 * GB}\n",
        "/user.slice/user-1000.slice/memory.current": f"{5 * GB}\n",
        "/user.slice/memory.max": f"{30 * GB}\n",
        "/user.slice/memory.current": f"{6 * GB}\n",
    }
    assert left(second(group, files)) == GB


def test_file_contents_that_can_go_are_free():
    """A large file that was read fills its group; the system drops such pages first."""
    files = {
        "/memory.max": f"{4 * GB}\n",
        "/memory.current": f"{4 * GB - 4096}\n",
        "/memory.stat": f"anon 123\nfile {3 * GB}\ninactive_file {3 * GB}\nactive_file 4\n",
    }
    assert left(second("/", files)) == 3 * GB + 4096


def test_more_in_use_than_the_limit_leaves_nothing():
    assert left(second("/", {"/memory.max": "1000\n", "/memory.current": "2000\n"})) == 0


def test_version_1_in_a_container():
    texts = {
        "/proc/self/cgroup": f"11:cpu,cpuacct:{DOCKER_GROUP}\n5:memory:{DOCKER_GROUP}\n0::/system.slice/containerd\n",
        "/proc/self/mountinfo": DOCKER,
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GB}\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GB}\n",
        "/sys/fs/cgroup/memory/memory.stat": f"cache 1\ntotal_inactive_file {GB // 2}\n",
    }
    assert left(texts) == 2 * GB - GB // 2


def test_version_1_without_a_limit_is_a_huge_number():
    folder = "/sys/fs/cgroup/memory/jobs/1"
    texts = {
        "/proc/self/cgroup": "4:memory:/jobs/1\n0::/\n",
        "/proc/self/mountinfo": HYBRID,
        f"{folder}/memory.limit_in_bytes": UNLIMITED,
        f"{folder}/memory.usage_in_bytes": "5000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED,
    }
    assert left(texts) == AVAILABLE
    above = {"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes": f"{GB}\n"}  # a batch system's limit
    assert left(texts | above) == GB
    hidden = {f"{folder}/memory.stat": f"hierarchical_memory_limit {GB}\n"}  # of a group that cannot be seen
    assert left(texts | hidden) == GB - 5000


def test_a_mount_with_a_space_and_a_group_outside_of_it():
    """A group that lies outside of what was mounted (a name space was left): the mounted one counts."""
    mounts = SECOND.replace("/sys/fs/cgroup", "/my\\040groups").replace("0:26 /", "0:26 /inner")
    texts = {
        "/proc/self/cgroup": "0::/../outer\n",
        "/proc/self/mountinfo": mounts,
        "/my groups/memory.max": f"{GB}\n",
    }
    assert left(texts) == GB


@pytest.mark.parametrize("text", ["", "\n", "nonsense", "0::", "5:memory", ":::::", "0::/a\n" * 3])
def test_texts_that_make_no_sense(text):
    assert left({"/proc/self/cgroup": text, "/proc/self/mountinfo": text}) == AVAILABLE
    assert left({"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": SECOND + text}) == AVAILABLE


def test_limits_of_the_process_count_what_it_has_already():
    status = {"/proc/self/status": "Name:\tpython\nVmPeak:\t 9 kB\nVmSize:\t  1048576 kB\nVmData:\t  524288 kB\n"}
    assert left(status, {"VmSize": 3 * GB}) == 2 * GB
    assert left(status, {"VmSize": 3 * GB, "VmData": GB}) == GB // 2
    assert left(status, {"VmSize": GB // 2}) == 0
    assert left({}, {"VmSize": 3 * GB}) == 3 * GB  # nothing says what it has


def test_a_default_is_never_nothing():
    assert usable(0) == LEAST_MEMORY
    assert usable(10 * LEAST_MEMORY) == 5 * LEAST_MEMORY
    assert default_memory() >= LEAST_MEMORY


def test_this_machine_has_some():
    assert 0 < free_memory.free_memory() <= free_memory.physical_memory()


LIMITED = """
import resource, sys
limit = int(float(sys.argv[2]) * 2**30)
resource.setrlimit(getattr(resource, sys.argv[1]), (limit, limit))
import numpy as np, unhub
rng = np.random.default_rng(0)
def unit(rows):
    x = rng.normal(size=(rows, 4)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)
found = unhub.fit("sn", targets=unit(8000), query_bank=unit(8000), tau="auto", iterations=1)
print(found.plan)
"""


@pytest.mark.parametrize(("which", "gigabytes"), [("RLIMIT_AS", "0.5"), ("RLIMIT_AS", "1"), ("RLIMIT_DATA", "0.4")])
def test_a_fit_by_default_under_a_limit(which, gigabytes):
    """Scores of 256 MB, which would be kept if half of this machine's memory could be had."""
    pytest.importorskip("resource", reason="there are no limits of this kind here")
    command = [sys.executable, "-c", LIMITED, which, gigabytes]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("cached:")
