"""The evaluation that `levelled demo` runs: real digits, a campaign, and a simulated labeller."""

from levelled.demo.campaign import digits_pool, label_all, start, truth

__all__ = ["digits_pool", "label_all", "start", "truth"]
