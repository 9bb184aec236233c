"""The settings: which model is trained on which problem, with how many labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from numpy.random import Generator

from levelled._optional import optional
from levelled.models import Model
from levelled_studies.learning.models import make_sklearn
from levelled_studies.linear.experiment import geometric, greedy
from levelled_studies.verdicts import problems as of

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A problem, a number of labels and a model."""

    sample: Callable[[Generator], of.Sample]
    model: Callable[[], Model]


def _polynomial(degree: int, penalty: float) -> Callable[[], Model]:
    powers = make_sklearn("preprocessing", "PolynomialFeatures", degree)
    scaled = make_sklearn("preprocessing", "StandardScaler")
    ridge = make_sklearn("linear_model", "Ridge", penalty)

    def make() -> Model:
        steps: Sequence[Model] = (powers(), scaled(), ridge())
        model: Model = optional("sklearn.pipeline", extra="sklearn").make_pipeline(*steps)
        return model

    return make


_line = make_sklearn("linear_model", "LinearRegression")
_logistic = make_sklearn("linear_model", "LogisticRegression")
_network = make_sklearn(
    "neural_network", "MLPClassifier", (10,), alpha=0.0, solver="lbfgs", max_iter=60
)
_forest = make_sklearn("ensemble", "RandomForestClassifier", 5)
_boosted = make_sklearn("ensemble", "GradientBoostingClassifier", n_estimators=8)
_paper = partial(partial, of.paper)
_unsure = partial(partial, of.draw_uncertain)
_far = partial(partial, of.draw_far)

SETTINGS = {
    "line, 30 labels": Setting(_paper(geometric(), 30), _line),
    "line by a learner, 30": Setting(partial(of.paper_by_learner, 30), _line),
    "line, 60 labels": Setting(_paper(geometric(), 60), _line),
    "line, epsilon-greedy, 30": Setting(_paper(greedy(), 30), _line),
    "cubic ridge, 30": Setting(_paper(geometric(), 30), _polynomial(3, 0.1)),
    "degree 9 ridge, 30": Setting(_paper(geometric(), 30), _polynomial(9, 1e-3)),
    "bent plane, 60": Setting(_far(of.bent, 500, 60), _line),
    "bent plane, 200": Setting(_far(of.bent, 1000, 200), _line),
    "rare class, 60": Setting(_unsure(of.rare, 500, 60), _logistic),
    "rare class, 200": Setting(_unsure(of.rare, 1000, 200), _logistic),
    "logistic, right model, 60": Setting(_unsure(of.logistic, 500, 60), _logistic),
    "logistic on moons, 60": Setting(_unsure(of.moons, 500, 60), _logistic),
    "tree on moons, 60": Setting(
        _unsure(of.moons, 500, 60), make_sklearn("tree", "DecisionTreeClassifier")
    ),
    "forest on moons, 60": Setting(_unsure(of.moons, 500, 60), _forest),
    "network, 8 idle features, 60": Setting(_unsure(of.idle, 500, 60), _network),
    "curve in x, 100": Setting(_far(of.saturating, 1000, 100), _line),
    "logistic, curved odds, 100": Setting(_unsure(of.curved, 1000, 100), _logistic),
    "naive Bayes, 3 classes, 100": Setting(
        _unsure(of.blobs, 1000, 100), make_sklearn("naive_bayes", "GaussianNB")
    ),
    "boosted trees, curved, 100": Setting(_unsure(of.curved, 1000, 100), _boosted),
    "extra tree, curved, 200": Setting(
        _unsure(of.curved, 1000, 200), make_sklearn("tree", "ExtraTreeClassifier")
    ),
}
