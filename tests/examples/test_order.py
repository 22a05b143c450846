# SPDX-License-Identifier: MIT
"""examples/order: each block comes once, in any order."""
import pytest
from programs import ALL_DEVICES, DEVICES, run


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("blocks", [1, 16, 17, 300])
def test_order(device, blocks):
    done = run(f"order-{device}", blocks)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    *lines, last = done.stdout.splitlines()
    order = [int(word) for line in lines for word in line.split()]
    assert sorted(order) == list(range(blocks))
    assert last.startswith("the last to finish: ") and int(last.split()[-1]) in order


def test_other_orders(monkeypatch):
    """simt runs the blocks in the order that it is told, backwards too."""
    monkeypatch.setenv("SIMT_ORDER", "reverse")
    assert run("order-simt", 5).stdout == "4 3 2 1 0\nthe last to finish: 0\n"


@pytest.mark.parametrize("device", DEVICES)
def test_usage(device):
    for arguments in ([], [0], ["x"], [1 << 21], [1, 1]):
        done = run(f"order-{device}", *arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("usage: "), arguments
