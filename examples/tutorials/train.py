# SPDX-License-Identifier: BSD-3-Clause
"""Trains a classifier of random pictures on the CPU. Argument mended: makes each batch as a tensor, not as lists.
Argument profile: PyTorch's profiler writes train.json."""

import sys
from contextlib import nullcontext

import torch
from torch.profiler import itt, profile

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(1024, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
pictures, labels = torch.rand(4096, 1024), torch.randint(10, (4096,))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The pictures and labels of a step."""
    chosen = torch.arange(step * 128, step * 128 + 128) % 4096
    if "mended" in sys.argv:
        return pictures[chosen], labels[chosen]
    return torch.tensor([pictures[row].tolist() for row in chosen]), labels[chosen]


with profile() if "profile" in sys.argv else nullcontext() as recorded:
    for step in range(20):
        with itt.range("batch"):
            x, y = batch(step)
        with itt.range("forward"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        with itt.range("backward"):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
if recorded:
    recorded.export_chrome_trace("train.json")
print(f"loss {loss.item():.3f}")
