# SPDX-License-Identifier: MIT
"""examples/many: what each rank prints, worked out here, with one simulated device and with several; and with processes
in place of threads, as far as its arguments go."""
import re

import numpy as np
import pytest
from programs import DEVICES, EXAMPLES, run

LINE = re.compile(r"rank (\d+) of (\d+): sum (\d+), (\d+) end in 0, running sum (\d+), sorted (\d+) to (\d+), "
                  r"product (\d+), heat (\S+)")


def expected(ranks):
    numbers = np.arange(100000) * 7919 % 10007
    m = (np.arange(96 * 96) % 7).reshape(96, 96)
    product, order, running = m @ m, np.sort(numbers), np.cumsum(numbers)
    slices = np.where(np.arange(64) < 64 // ranks, 100.0, 0.0)
    beside = np.pad(slices, 1, mode="edge")
    warm = 0.25 * slices + 0.125 * (4 * slices + beside[:-2] + beside[2:])
    for rank in range(ranks):
        begin, end = (100000 * r // ranks for r in (rank, rank + 1))
        yield (rank, ranks, numbers.sum(), (numbers % 10 == 0).sum(), running[end - 1], order[begin], order[end - 1],
               product[96 * (rank + 1) // ranks - 1, 95], warm[64 * rank // ranks])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_many(device, ranks, monkeypatch):
    if not (EXAMPLES / f"many-{device}").exists():
        pytest.skip("no NCCL, so it was not built for the GPU")
    monkeypatch.setenv("SIMT_DEVICES", str(ranks))
    done = run(f"many-{device}")
    assert done.returncode == 0 and done.stderr == ""
    lines = sorted(done.stdout.splitlines(), key=lambda line: int(line.split()[1]))
    count = ranks if device == "simt" else len(lines)
    found = [tuple(float(x) for x in LINE.fullmatch(line).groups()) for line in lines]
    assert found == [tuple(float(x) for x in want) for want in expected(count)]


def test_alone(tmp_path, monkeypatch):
    """One process that says that it is the only one."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    done = run("many-simt", str(tmp_path / "id"))
    assert done.returncode == 0 and done.stdout.startswith("rank 0 of 1: ") and not list(tmp_path.iterdir())


def test_usage(tmp_path, monkeypatch):
    for name in ("RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    done = run("many-simt", str(tmp_path / "id"))
    assert done.returncode == 2 and done.stderr.startswith("usage: many")
