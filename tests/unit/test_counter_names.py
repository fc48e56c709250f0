# SPDX-License-Identifier: BSD-3-Clause
"""Lists of counters: commas inside the terms of a PMU belong to the name, commas after paths do not."""

import pytest

from vtrace.wrappers.launch.counters import settings_of, split_names


@pytest.mark.parametrize(
    "names",
    [
        ["net/lo/tx_bytes", "net/lo/rx_bytes", "cycles"], ["/sys/a", "/sys/b"],
        ["cpu/event=0x3c,umask=0x1/", "power/intel-rapl:0", "task-clock"],
    ],
)  # fmt: skip
def test_names(names: list[str]) -> None:
    assert split_names(",".join(names)) == names
    settings = settings_of(names)
    assert settings["VT_METRICS"].split(settings["VT_METRICS_SEP"]) == names
