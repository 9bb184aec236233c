"""The study of the share on problems whose truth is known by simulation."""

from levelled_studies.study import Study
from levelled_studies.verdicts.report import claims, figures
from levelled_studies.verdicts.trial import VerdictSettings, run, tasks

__all__ = ["STUDIES"]

_QUICK = ("line, 30 labels", "line by a learner, 30", "tree on moons, 60", "curve in x, 100")

STUDIES = {
    "verdicts": Study(
        name="verdicts",
        title="How far to correct training, where the truth is known",
        presets={
            "smoke": VerdictSettings(trajectories=4, batch=2, names=_QUICK),
            "cpu": VerdictSettings(),
            "paper": VerdictSettings(),
        },
        tasks=tasks,
        run=run,
        figures=figures,
        claims=claims,
    )
}
