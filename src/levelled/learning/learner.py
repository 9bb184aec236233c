"""The shell of active learning: ask, tell, fit. What it decides lies in the modules beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, choice, whole
from levelled.advice import Verdict
from levelled.draws import Draws
from levelled.errors import InputError, NotTrainedError
from levelled.learning import saving
from levelled.learning.drawing import next_draws
from levelled.learning.posterior import Ensemble
from levelled.learning.proposing import Propose
from levelled.learning.scoring import Score
from levelled.learning.settings import LearnerSettings, Weights, pool_size, settings_of, with_params
from levelled.learning.state import Labels, begun, drawn, told
from levelled.learning.stopping import Stopping, stopping
from levelled.learning.training import Trained, advised, check_suits, trained, waiting
from levelled.models import (
    LOSSES,
    Loss,
    Model,
    OwnLoss,
    Rows,
    call_model,
    read_only,
    untrained_copy,
)

if TYPE_CHECKING:
    from levelled.campaigns import Campaign

__all__ = ["ActiveLearner"]

_PARAMS = ("model", "X_pool", "score", "proposal", "weights", "ensemble", "floor", "start", "seed")


class ActiveLearner:
    """A model that asks for the labels it is trained on, and remembers how likely each was.

    `ask` draws rows of the pool by the score of a model trained on the labels so far, `tell`
    takes their labels, `fit` trains. Every draw is kept with its probability, so that training
    can be corrected for the choice (`weights`) and a risk measured by the same labels is
    unbiased.

    `score` is "entropy", "margin" or "least_confidence" of the model's probabilities; "bald" or
    "variation_ratio" of posterior samples; "variance" of an ensemble of regressors; "geometric",
    the distance to what was drawn; "uniform"; or a function (model, X_pool) -> a score a row.
    "auto" is "entropy" for classifiers and "geometric" for regressors.
    `proposal` turns scores into probabilities: "boltzmann" (beta = 1 on z-scores), "power",
    "rank" (exponent 1), each of another strength as in "boltzmann:2", "proportional",
    "epsilon_greedy", "uniform", all over a uniform share of `floor`; or a function of the scores
    of the rows left. `ensemble` is where posterior samples come from: a number of bootstrap
    copies, or a list of models; without it the model's own `sample_proba(X, K)` or the trees of
    a forest.

    `weights` are those of training: "lure", "pure", "none", or "auto", which asks `advise` and
    corrects only where that says so. The first draws are uniform, until `start` labels are told
    and, for a classifier, two classes.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> y = np.where(X[:, 0] > 0.5, "yes", "no")
    >>> learner = ActiveLearner(LogisticRegression(), X, weights="lure", seed=0)
    >>> while len(learner) < 40:
    ...     index = learner.ask(5)
    ...     learner.tell(index, y[index])
    >>> learner.fit()
    ActiveLearner(LogisticRegression, 40 labels of 500)
    >>> bool(np.mean(learner.predict(X) == y) > 0.9)
    True
    """

    def __init__(
        self,
        model: Model,
        X_pool: Rows,
        *,
        score: str | Score = "auto",
        proposal: str | Propose = "boltzmann",
        weights: Weights = "auto",
        ensemble: Ensemble = None,
        floor: float = 0.1,
        start: int = 10,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.X_pool = X_pool
        self.score = score
        self.proposal = proposal
        self.weights = weights
        self.ensemble = ensemble
        self.floor = floor
        self.start = start
        self.seed = seed
        self._state = begun(pool_size(self._settings, X_pool))
        self._trained: Trained | None = None
        self._advised: tuple[Loss | OwnLoss, Verdict] | None = None
        """What `advise` said of the labels as they are, and the loss it judged by."""
        self.note: str | None = None
        """What the last `ask`, `fit` or `save` has to say beside its result."""

    def __len__(self) -> int:
        return self._state.n_labels

    def __repr__(self) -> str:
        n_pending = len(self._state.pending)
        wait = f", {n_pending} waiting" if n_pending else ""
        pool = self._state.draws.pool_size
        return f"ActiveLearner({type(self.model).__name__}, {len(self)} labels of {pool}{wait})"

    @property
    def draws(self) -> Draws:
        """Everything drawn so far, in order, labelled or not."""
        return self._state.draws

    @property
    def pending(self) -> IntArray:
        """The rows that were asked for and have no label yet."""
        return self._state.pending

    def ask(self, k: int = 1) -> IntArray:
        """The next k rows to label; asked again without labels, it draws further ones.

        Scores are those of the labels told by now, the same for all k; each draw has its own
        probability among what is left. Where fewer are left fewer come back, and `note` says so;
        once nothing is left it refuses.
        """
        k = whole("k", k, least=1)
        more = next_draws(self._settings, self.X_pool, self._state, k)
        self._state = drawn(self._state, more)
        short = f"only {len(more)} of {k} rows were left to draw"
        self.note = short if len(more) < k else None
        return more.index.copy()

    def tell(self, index: ArrayLike, labels: Labels, *, amend: bool = False) -> None:
        """Record labels of rows that were asked for, in any order; None cannot be labelled.

        Telling the same again is harmless. Another label for the same row is refused, unless
        `amend`. In any trouble none of the labels is taken.
        """
        state = told(self._state, index, labels, amend=amend)
        self._state = check_suits(self.model, state)
        self._advised = None

    def fit(self, *, loss: Loss | OwnLoss = "auto") -> Self:
        """Train the model on the labels, with their weights.

        Only draws without a gap are used, because weights need all draws before theirs: `note`
        says how many labels wait for an earlier one. A classifier needs two classes. `loss` is
        what weights="auto" is decided by, as in `advise`; it does not change the training.
        """
        self._trained = trained(self._settings, self.X_pool, self._state, self._verdict(loss))
        self.note = waiting(self._state)
        return self

    def advise(self, **options: Any) -> Verdict:  # noqa: ANN401
        """Whether weights are worth it here; options are those of `levelled.advice.advise`."""
        return advised(self._settings, self.X_pool, self._state, **options)

    def should_stop(
        self, gain: float, *, loss: Loss = "auto", bound: float | None = None, level: float = 0.95
    ) -> Stopping:
        """Whether doubling the labels gains less than `gain`, as far as it has been seen.

        Compares the models after t/2 and t labels by the labels drawn since, on the error of a
        classifier unless `loss` names another; other losses are cut at `bound`. It may be asked
        after each label: the chance that it ever says stop while the doubling it speaks of
        gained `gain` or more is at most 1 - level. That the next doubling gains no more than
        that one did is an assumption; most learning curves bend so, none has to.
        """
        return stopping(
            self._settings, self.X_pool, self._state, gain, loss=loss, bound=bound, level=level
        )

    def predict(self, X: Rows) -> NDArray[Any]:
        """What the trained model says of each row."""
        return np.asarray(
            call_model(self.model, "predict", lambda: self.model_.predict(read_only(X)), X)
        )

    def predict_proba(self, X: Rows) -> FloatArray:
        """How likely the trained model holds each of `classes_`."""
        model: Any = self.model_
        return np.asarray(
            call_model(self.model, "predict", lambda: model.predict_proba(read_only(X)), X)
        )

    @property
    def model_(self) -> Model:
        """The trained model."""
        return self._last_fit().model

    @property
    def sample_weight_(self) -> FloatArray:
        """The weight of each label in the last `fit`, to be divided by the number of draws."""
        return self._last_fit().weights.copy()

    @property
    def weights_(self) -> str:
        """The weights that the last `fit` used: "lure", "pure" or "none"."""
        return self._last_fit().kind

    @property
    def verdict_(self) -> Verdict | None:
        """What `advise` said at the last `fit`; None if its weights were not "auto"."""
        return self._last_fit().verdict

    @property
    def index_(self) -> IntArray:
        """The rows that the last `fit` was trained on, in the order of their draws."""
        return self._last_fit().rows.copy()

    @property
    def labels_(self) -> NDArray[Any]:
        """The labels that the last `fit` was trained on, in the order of their draws."""
        return self._last_fit().labels.copy()

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of a classifier, in their order."""
        classes = self._last_fit().classes
        if classes is None:
            raise AttributeError(f"{type(self.model).__name__} is no classifier.")
        return classes.copy()

    def save(self, folder: str | Path) -> None:
        """Write draws, labels, settings and the untrained model to a folder.

        A model that joblib cannot write is left out: `note` says so, and `load` asks for it.
        """
        self.note = saving.save(folder, self._settings, self.X_pool, self._state)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        X_pool: Rows,
        *,
        model: Model | None = None,
        score: Score | None = None,
        proposal: Propose | None = None,
        ensemble: Ensemble = None,
    ) -> Self:
        """Take up a saved learner; it draws on exactly as one that was never saved.

        X_pool must be the same pool. The model is read by joblib, which runs code that is in the
        file: load folders that you trust, or give the model, and the committee if there was one.
        Functions are not saved: give a score or proposal that was one again.
        """
        given = {"model": model, "score": score, "proposal": proposal, "ensemble": ensemble}
        params, state = saving.load(folder, X_pool, given)
        learner = cls(params.pop("model"), X_pool, **params)
        learner._state = state
        return learner

    @classmethod
    def from_campaign(
        cls,
        campaign: "Campaign",
        model: Model,
        X_pool: Rows,
        *,
        ids: ArrayLike | None = None,
        **params: Any,  # noqa: ANN401
    ) -> Self:
        """Train on the labels of an evaluation: its settled draws become those of the learner.

        Rows of X_pool are the items of the campaign's pool in its order, or in that of `ids`.
        `ask` goes on drawing from what is left. Labels after a gap are left out, and `note` says
        how many.
        """
        from levelled.learning import gathering  # which brings databases along

        if not hasattr(campaign, "state"):
            raise InputError(f"A campaign is wanted, as load_campaign gives it; not {campaign!r}.")
        learner = cls(model, X_pool, **params)
        state = gathering.from_campaign(campaign.state, learner.draws.pool_size, ids)
        learner._state = check_suits(model, state)
        learner.note = gathering.left_out(campaign.state)
        return learner

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as they were given; `deep` adds those of the model, as model__C."""
        params = {name: getattr(self, name) for name in _PARAMS}
        if deep and hasattr(self.model, "get_params"):
            params |= {f"model__{name}": one for name, one in self.model.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change how it scores, draws and trains from now on; draws and labels stay.

        model__C=10 sets C of a copy of the model, as scikit-learn names it.
        """
        nested = {name: params.pop(name) for name in [*params] if name.startswith("model__")}
        fixed = [name for name in params if name not in _PARAMS or name == "X_pool"]
        if fixed:
            raise InputError(
                f"{fixed[0]!r} cannot be set; a learner has the parameters {', '.join(_PARAMS)}, "
                f"and draws from one X_pool."
            )
        if nested:
            params["model"] = with_params(params.get("model", self.model), nested)
        pool_size(settings_of(self.get_params(deep=False) | params), self.X_pool)
        for name, value in params.items():
            setattr(self, name, value)
        self._advised = None
        return self

    def __sklearn_clone__(self) -> "ActiveLearner":
        """A learner with the same parameters and nothing drawn; the pool is shared, not copied."""
        params = self.get_params(deep=False)
        return type(self)(untrained_copy(params.pop("model")), params.pop("X_pool"), **params)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a trained model, as scikit-learn asks."""
        return self._trained is not None

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """What the model is, as scikit-learn asks."""
        model: Any = self.model
        return model.__sklearn_tags__()

    @property
    def _settings(self) -> LearnerSettings:
        return settings_of(self.get_params(deep=False))

    def _last_fit(self) -> Trained:
        if self._trained is None:
            raise NotTrainedError("The learner has not been trained yet: call fit() first.")
        return self._trained

    def _verdict(self, loss: Loss | OwnLoss) -> Verdict | None:
        """What "auto" goes by; the same labels are not asked about twice."""
        if not callable(loss):
            choice("loss", loss, LOSSES)
        if self.weights != "auto":
            return None
        if self._advised is None or self._advised[0] != loss:
            self._advised = loss, self.advise(loss=loss)
        return self._advised[1]
