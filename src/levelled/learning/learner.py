"""The active learner: ask, tell, fit. Decisions are pure functions in the modules beside it."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, choice, whole
from levelled.advice import Verdict
from levelled.advice.correcting import FOLDS, Correction, Test
from levelled.draws import Draws
from levelled.errors import InputError
from levelled.learning import saving, training
from levelled.learning.drawing import Labels, add_draws, add_labels, empty_state, next_draws
from levelled.learning.settings import (
    PARAMETERS,
    Ensemble,
    LearnerSettings,
    Propose,
    Score,
    Weights,
    change_settings,
    check_pool,
    parameter,
)
from levelled.learning.training import Blend, Stopping, TrainedModel, should_stop
from levelled.models import (
    LOSSES,
    Loss,
    Model,
    OwnLoss,
    Rows,
    call_model,
    not_trained,
    read_only,
    take,
    untrained_copy,
)

if TYPE_CHECKING:
    from levelled.campaigns import Campaign


class ActiveLearner:
    """A model that chooses the items it is trained on, with the probability of each choice.

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
    of the rows left. `ensemble` makes posterior samples: a number of bootstrap copies, or a
    list of models; without it they are the model's own `sample_proba(X, K)` or the trees of a
    forest.

    `weights`: "auto" trains plainly and with weights, and averages the predictions, corrected as
    far as helps on these labels; "lure" and "pure" are the weights of the unbiased risk estimators
    R_LURE and R_PURE; "none" is plain training, as always of the model that scores the pool. The
    first draws are uniform, until `start` labels are told and, for a classifier, two classes.

    >>> import numpy as np
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
        floor: float = 0.3,
        start: int = 10,
        seed: int = 0,
    ) -> None:
        self.X_pool = X_pool
        self._settings = LearnerSettings(
            model, score, proposal, weights, ensemble, floor, start, seed
        )
        self._state = empty_state(check_pool(self._settings, X_pool))
        self._trained: TrainedModel | None = None
        self._last_correction: tuple[Loss | OwnLoss, Correction] | None = None
        self.note: str | None = None
        """A note of the last `ask`, `fit` or `save` on its result, if there is one."""

    model = parameter("model")
    score = parameter("score")
    proposal = parameter("proposal")
    weights = parameter("weights")
    ensemble = parameter("ensemble")
    floor = parameter("floor")
    start = parameter("start")
    seed = parameter("seed")

    def __len__(self) -> int:
        return self._state.n_labels

    def __repr__(self) -> str:
        name, n_pending = type(self.model).__name__, len(self.pending)
        waiting = f", {n_pending} waiting" if n_pending else ""
        return f"ActiveLearner({name}, {len(self)} labels of {self.draws.pool_size}{waiting})"

    @property
    def draws(self) -> Draws:
        """Everything drawn so far, in order, labelled or not."""
        return self._state.draws

    @property
    def pending(self) -> IntArray:
        """The rows that were asked for and have no label yet."""
        return self._state.pending

    def ask(self, k: int = 1) -> IntArray:
        """Draw the next k rows to label; another call before their labels draws further ones.

        Scores are those of the labels told by now, the same for all k; each draw has its own
        probability among the rows left. If fewer than k are left it returns these, and `note`
        says so; if none is left it refuses.
        """
        k = whole("k", k, least=1)
        more, hazards = next_draws(self._settings, self.X_pool, self._state, k)
        self._state, self._last_correction = add_draws(self._state, more, hazards), None
        short = f"only {len(more)} of {k} rows were left to draw"
        self.note = short if len(more) < k else None
        return more.index.copy()

    def tell(self, index: ArrayLike, labels: Labels, *, amend: bool = False) -> None:
        """Record labels of rows that were asked for, in any order.

        The label None says that an item cannot be labelled. Telling the same again is harmless.
        Another label for the same row is refused, unless `amend`. If one label is refused, none
        is recorded.
        """
        state = add_labels(self._state, index, labels, amend=amend)
        self._state = training.check_labels_suit(self.model, state)
        self._last_correction = None

    def fit(self, *, loss: Loss | OwnLoss = "auto", single: bool = False) -> Self:
        """Train the model on the labels, with their weights.

        Only draws without a gap are used, because weights need all draws before theirs: `note`
        says how many labels wait for an earlier one. With weights="auto", `loss` is the one that
        says how far to correct, and `single` takes the better of the two models alone.
        """
        if not callable(loss):
            choice("loss", loss, LOSSES)
        correction = self._correction(loss) if self.weights == "auto" else None
        self._trained = training.train(
            self._settings, self.X_pool, self._state, correction, single=single
        )
        n_pending, self.note = len(self.pending), None
        if n_pending:
            self.note = f"{n_pending} of {len(self.draws)} draws wait for their labels"
            unused = len(self) - len(self._state.settled())
            more = f", and {unused} later labels are not used until then"
            self.note += more if unused else ""
        return self

    def advise(
        self,
        *,
        loss: Loss | OwnLoss | None = None,
        folds: int | None = FOLDS,
        test: Test | None = None,
    ) -> Verdict:
        """Advise how far to correct here, for `loss`, or else that of the last `fit`.

        The options are those of `levelled.advice.advise`. After a fit nothing is fitted again,
        unless they are others.
        """
        if loss is None:
            loss = "auto" if self._last_correction is None else self._last_correction[0]
        if folds == FOLDS and test is None:
            return self._correction(loss).verdict
        options = {"loss": loss, "folds": folds, "test": test}
        return training.judge_settled(self._settings, self.X_pool, self._state, **options).verdict

    def should_stop(
        self, gain: float, *, loss: Loss = "auto", bound: float | None = None, level: float = 0.95
    ) -> Stopping:
        """Stop if the last doubling of the labels gained less than `gain`.

        Compares the models after t/2 and t labels by the labels drawn since, on the error of a
        classifier unless `loss` names another; other losses are cut at `bound`. It may be called
        after each label: the chance that it ever returns stop although the doubling it measured
        gained `gain` or more is at most 1 - level. That the next doubling gains no more than
        that one did is an assumption; most learning curves bend so, none has to.
        """
        return should_stop(
            self._settings, self.X_pool, self._state, gain, loss=loss, bound=bound, level=level
        )

    def save(self, folder: str | Path) -> None:
        """Write draws, labels, settings and the untrained model to a folder.

        A model that joblib cannot write is left out: `note` says so, and `load` needs it again.
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
        """Load a saved learner; its next draws are those it would have made if never saved.

        X_pool must be the same pool. The model is read by joblib, which runs code that is in the
        file: load folders that you trust, or give the model, and the committee if there was one.
        Functions are not saved: give a score or proposal that was one again.
        """
        own = {"model": model, "score": score, "proposal": proposal, "ensemble": ensemble}
        params, state = saving.load(folder, X_pool, own)
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
        """A learner that begins with the settled draws and the labels of an evaluation.

        Rows of X_pool are the items of the campaign's pool in its order, or in that of `ids`.
        `ask` goes on drawing from what is left. Labels after a gap are left out, and `note` says
        how many.
        """
        if not hasattr(campaign, "state"):
            raise InputError(f"A campaign is wanted, as load_campaign gives it; not {campaign!r}.")
        learner = cls(model, X_pool, **params)
        state = saving.state_from_campaign(campaign.state, learner.draws.pool_size, ids)
        learner._state = training.check_labels_suit(model, state)
        first = campaign.state.n_settled + 1
        n_after = sum(draw >= first for draw in campaign.state.answers)
        if n_after:
            learner.note = (
                f"{n_after} labels of {campaign.state.settings.name!r} after draw {first}, which "
                f"has none, are left out, and their rows may be drawn again"
            )
        return learner

    def predict(self, X: Rows) -> NDArray[Any]:
        """The prediction of the trained model for each row."""
        return self._call("predict", X)

    def predict_proba(self, X: Rows) -> FloatArray:
        """The probabilities of `classes_` by the trained model, for each row."""
        return self._call("predict_proba", X)

    def _call(self, method: str, X: Rows) -> NDArray[Any]:
        return call_model(
            self.model, "predict", lambda: np.asarray(getattr(self.model_, method)(read_only(X))), X
        )

    @property
    def model_(self) -> Any:  # noqa: ANN401
        """The trained model: a `Blend` where weights="auto" corrected in part."""
        return self._last_fit().model

    @property
    def sample_weight_(self) -> FloatArray:
        """The weight of each label in the last `fit`; those of the corrected model in a blend."""
        return self._last_fit().weights.copy()

    @property
    def weights_(self) -> str:
        """The weights that the last `fit` used: "lure", "pure", "none", or "auto" for a blend."""
        return self._last_fit().kind

    @property
    def correction_(self) -> Blend | None:
        """Share, evidence and both models of the last `fit`; None if weights were not "auto"."""
        return self._last_fit().blend

    @property
    def verdict_(self) -> Verdict | None:
        """The verdict that decided at the last `fit`; None if its weights were not "auto"."""
        return None if self.correction_ is None else self.correction_.verdict

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

    @property
    def n_features_in_(self) -> int:
        """The number of features of an item; a trained learner has it if its pool has columns."""
        self._last_fit()
        shape = np.shape(take(self.X_pool, np.zeros(1, dtype=np.int64)))
        if len(shape) < 2:
            kind = type(self.X_pool).__name__
            raise AttributeError(f"The items of a {kind} have no features to count.")
        return math.prod(shape[1:])  # of an image, its numbers

    def __sklearn_is_fitted__(self) -> bool:
        """True if there is a trained model; scikit-learn calls this."""
        return self._trained is not None

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of the model; scikit-learn calls this."""
        model: Any = self.model
        return model.__sklearn_tags__()

    def _last_fit(self) -> TrainedModel:
        if self._trained is None:
            raise not_trained("The learner has not been trained yet: call fit() first.")
        return self._trained

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as they were given; `deep` adds those of the model, as model__C."""
        params = {name: getattr(self, name) for name in PARAMETERS}
        if deep and hasattr(self.model, "get_params"):
            params |= {f"model__{name}": one for name, one in self.model.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change how it scores, draws and trains from now on; draws and labels stay.

        model__C=10 sets C of a copy of the model, as scikit-learn names it.
        """
        settings = change_settings(self._settings, params)
        check_pool(settings, self.X_pool)
        self._settings, self._last_correction = settings, None
        return self

    def __sklearn_clone__(self) -> "ActiveLearner":
        """A learner with the same parameters and nothing drawn; the pool is shared, not copied."""
        params = self.get_params(deep=False)
        return type(self)(untrained_copy(params.pop("model")), params.pop("X_pool"), **params)

    def _correction(self, loss: Loss | OwnLoss = "auto") -> Correction:
        """The correction of the present labels, computed once for the same loss."""
        if self._last_correction is None or self._last_correction[0] != loss:
            judged = training.judge_settled(self._settings, self.X_pool, self._state, loss=loss)
            self._last_correction = loss, judged
        return self._last_correction[1]
