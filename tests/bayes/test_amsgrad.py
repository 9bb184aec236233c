import pytest

pytest.importorskip("torch")

import torch
from torch import Generator

from levelled.bayes.amsgrad import AMSGrad


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_its_steps_are_those_of_torch(weight_decay: float, seed: int) -> None:
    generator = Generator().manual_seed(seed)
    start = torch.randn(2, 7, generator=generator, dtype=torch.float64)
    ours, theirs = start.clone(), start.clone().requires_grad_()
    mine = AMSGrad(ours, learning_rate=0.01, weight_decay=weight_decay)
    reference = torch.optim.Adam([theirs], lr=0.01, weight_decay=weight_decay, amsgrad=True)
    for step in range(20):
        gradient = torch.randn(2, 7, generator=generator, dtype=torch.float64) / (1 + step)
        mine.step(gradient)
        theirs.grad = gradient.clone()
        reference.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-12)
