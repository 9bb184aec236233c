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
    """A problem, a number of labels and a model.

    Settings `used_for_rule` were looked at, with other seeds, when the rule was made; the others
    were not. A model that `interpolates` can fit any labels, or nearly (five bootstrapped trees),
    so weights can change little.
    """

    sample: Callable[[Generator], of.Sample]
    model: Callable[[], Model]
    used_for_rule: bool = True
    interpolates: bool = False


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
_network = make_sklearn("neural_network", "MLPClassifier", (10,), alpha=0.0, solver="lbfgs")
_forest = make_sklearn("ensemble", "RandomForestClassifier", 5)
_boosted = make_sklearn("ensemble", "GradientBoostingClassifier", n_estimators=8)
_paper = partial(partial, of.paper)
_unsure = partial(partial, of.draw_uncertain)
_far = partial(partial, of.draw_far)

SETTINGS = {
    "line, 30 labels": Setting(_paper(geometric(), 30), _line),
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
        _unsure(of.moons, 500, 60),
        make_sklearn("tree", "DecisionTreeClassifier"),
        interpolates=True,
    ),
    "1-nearest neighbour, 60": Setting(
        _unsure(of.moons, 500, 60),
        make_sklearn("neighbors", "KNeighborsClassifier", 1),
        interpolates=True,
    ),
    "forest on moons, 60": Setting(_unsure(of.moons, 500, 60), _forest, interpolates=True),
    "network, 8 idle features, 60": Setting(
        _unsure(of.idle, 500, 60), _network, used_for_rule=False, interpolates=True
    ),
    "curve in x, 100": Setting(_far(of.saturating, 1000, 100), _line, used_for_rule=False),
    "logistic, curved odds, 100": Setting(
        _unsure(of.curved, 1000, 100), _logistic, used_for_rule=False
    ),
    "naive Bayes, 3 classes, 100": Setting(
        _unsure(of.blobs, 1000, 100), make_sklearn("naive_bayes", "GaussianNB"), used_for_rule=False
    ),
    "boosted trees, curved, 100": Setting(
        _unsure(of.curved, 1000, 100), _boosted, used_for_rule=False
    ),
    "extra tree, curved, 200": Setting(
        _unsure(of.curved, 1000, 200),
        make_sklearn("tree", "ExtraTreeClassifier"),
        used_for_rule=False,
        interpolates=True,
    ),
}
