"""The active learner: ask, tell, fit. Decisions are pure functions in the modules beside it."""

import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelled._check import FloatArray, IntArray, choice, whole
from levelled._optional import optional
from levelled.advice import Verdict
from levelled.advice.correcting import FOLDS, Correction, Test
from levelled.draws import Draws
from levelled.errors import InputError, NotTrainedError
from levelled.learning import saving, training
from levelled.learning.drawing import Labels, add_draws, add_labels, empty_state, next_draws
from levelled.learning.settings import (
    FLOOR,
    START,
    Ensemble,
    LearnerSettings,
    Propose,
    Score,
    Weights,
    check_pool,
)
from levelled.learning.training import Stopping, should_stop
from levelled.models import (
    LOSSES,
    Loss,
    Model,
    OwnLoss,
    Rows,
    call_model,
    read_only,
    take,
    untrained_copy,
)

if TYPE_CHECKING:
    from levelled.campaigns import Campaign

_sklearn = optional("sklearn", extra="sklearn")


class UntrainedError(NotTrainedError, _sklearn.exceptions.NotFittedError):  # type: ignore[misc, name-defined]
    """A learner that was not trained yet, in the sense of scikit-learn too."""


_SETTINGS = fields(LearnerSettings)


class ActiveLearner(_sklearn.base.BaseEstimator):  # type: ignore[misc, name-defined]
    """A model that chooses the items it is trained on, with the probability of each choice.

    `ask` draws rows of the pool by the score of a model trained on the labels so far, `tell`
    takes their labels, `fit` trains. Every draw is kept with its probability, so that training
    can be corrected for the choice (`weights`) and a risk measured by the same labels is
    unbiased. The model that scores the pool is always trained plainly.

    Parameters
    ----------
    model : An object with `fit` and `predict`. It is copied before it is trained.
    X_pool : One row an item: an array, a sparse matrix, a frame or a list of texts.
    score : "entropy", "margin" or "least_confidence" of the model's probabilities; "bald" or
        "variation_ratio" of posterior samples; "variance" of an ensemble of regressors;
        "geometric", the distance to what was drawn; "uniform"; or a function (model, X_pool) ->
        a score a row. "auto" is "entropy" for classifiers and "geometric" for regressors.
    proposal : "boltzmann" (beta = 1 on z-scores), "power" or "rank" (exponent 1), each of another
        strength as in "boltzmann:2", "proportional", "epsilon_greedy" or "uniform"; or a function
        of the scores of the rows left, to which no floor is added.
    weights : "auto" trains plainly and with weights, and averages the predictions, corrected as
        far as helps on these labels; "lure" and "pure" are the weights of the unbiased risk
        estimators R_LURE and R_PURE; "none" is plain training.
    ensemble : The source of posterior samples: a number of bootstrap copies, or a list of models;
        None for the model's own `sample_proba(X, K)` or the trees of a forest.
    floor : The share of the probability that is spread evenly over the rows left.
    start : Labels that are drawn uniformly at first; a classifier also needs two classes.
    seed : The seed of the draws, and of each `random_state` that the model leaves open.

    Attributes
    ----------
    model_ : The trained model, a `Blend` where weights="auto" corrected in part.
    sample_weight_ : The weight of each label; in a blend, those of the corrected model.
    weights_ : The kind of weights used: "lure", "pure", "none", or "auto" for a blend.
    correction_ : The `Blend` that weights="auto" made, with its share and both models, or None.
    verdict_ : The verdict that decided on the share, or None.
    index_, labels_ : The rows and the labels of the training, in the order of their draws.
    classes_ : The classes of a classifier, in their order.
    n_features_in_ : The number of features, where rows of the pool have any.
    note : A note of the last `ask`, `fit` or `save` on its result, or None.

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
        floor: float = FLOOR,
        start: int = START,
        seed: int = 0,
    ) -> None:
        self.model: Any = model
        self.X_pool, self.score = X_pool, score
        self.proposal, self.weights, self.ensemble = proposal, weights, ensemble
        self.floor, self.start, self.seed = floor, start, seed
        self.note: str | None = None
        self._state = empty_state(check_pool(self._settings, X_pool))
        self._last_correction: tuple[tuple[Any, ...], Correction] | None = None

    @property
    def _settings(self) -> LearnerSettings:
        """The parameters, checked anew: any of them may have been set in the meantime."""
        return LearnerSettings(**{one.name: getattr(self, one.name) for one in _SETTINGS})

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
        fitted = training.train(self._settings, self.X_pool, self._state, correction, single=single)
        self.__dict__.pop("classes_", None)  # of an earlier model
        self.__dict__.update(fitted)
        shape = np.shape(take(self.X_pool, np.zeros(1, dtype=np.int64)))
        if len(shape) > 1:
            self.n_features_in_ = math.prod(shape[1:])  # of an image, its numbers
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
            loss = "auto" if self._last_correction is None else self._last_correction[0][0]
        if folds == FOLDS and test is None:
            return self._correction(loss).verdict
        options = {"loss": loss, "folds": folds, "test": test}
        return training.judge_settled(self._settings, self.X_pool, self._state, **options).verdict

    def should_stop(
        self, gain: float, *, loss: Loss = "auto", bound: float | None = None, level: float = 0.95
    ) -> Stopping:
        """Stop if the last doubling of the labels gained less than `gain`.

        Compares the models after t/2 and t labels by the labels drawn since. It may be called
        after each label. That the next doubling gains no more than that one did is an
        assumption; most learning curves bend so, none has to. A model that predicts the same for
        every item has not begun to learn, and goes on.

        Parameters
        ----------
        gain : The least difference of losses that is worth a doubling of the labels.
        loss : The loss that is compared; "auto" is the error of a classifier.
        bound : The value at which losses are cut; those of numbers have none of their own.
        level : The chance that it ever returns stop, although the doubling it measured gained
            `gain` or more, is at most 1 - level.
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

        The model is read by joblib, which runs code that is in the file: load folders that you
        trust, or give the model.

        Parameters
        ----------
        folder : The folder that `save` wrote.
        X_pool : The same pool.
        model : The model, if it could not be saved, or is not to be read by joblib.
        score, proposal : Functions that were given to the saved learner, which are not saved.
        ensemble : The list of models, if there was one and the model is given.
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

        `ask` goes on drawing from what is left. Labels after a gap are left out, and `note` says
        how many.

        Parameters
        ----------
        campaign : A campaign, as `load_campaign` gives it.
        model : The model to train.
        X_pool : Features of the items of the campaign's pool.
        ids : The id of each row of X_pool; without them its rows are in the order of the pool.
        params : Further parameters of `ActiveLearner`.
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

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.endswith("_") and not name.startswith("_") and "model_" not in vars(self):
            raise UntrainedError("The learner has not been trained yet: call fit() first.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags of the model; scikit-learn calls this."""
        known = hasattr(self.model, "__sklearn_tags__")
        return _sklearn.utils.get_tags(self.model) if known else super().__sklearn_tags__()

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change how it scores, draws and trains from now on; draws and labels stay.

        model__C=10 sets C of a copy of the model, as scikit-learn names it. If one value is
        refused, none is set.
        """
        before = self.get_params(deep=False)
        what = f"set {', '.join(params)}"
        if "X_pool" in params:
            raise InputError(f"ActiveLearner cannot {what}: the draws are rows of one X_pool.")
        if any(name.startswith("model__") for name in params):
            params |= {"model": untrained_copy(params.get("model", self.model))}
        try:
            call_model(self, what, lambda: super(ActiveLearner, self).set_params(**params))
            check_pool(self._settings, self.X_pool)
        except InputError:
            self.__dict__.update(before)
            raise
        return self

    def __sklearn_clone__(self) -> "ActiveLearner":
        """A learner with the same parameters and nothing drawn; the pool is shared, not copied."""
        params = self.get_params(deep=False)
        return type(self)(untrained_copy(params.pop("model")), params.pop("X_pool"), **params)

    def _correction(self, loss: Loss | OwnLoss = "auto") -> Correction:
        """The correction of the present labels, computed once for the same loss and model."""
        key = (loss, self.model, self.seed)
        if self._last_correction is None or self._last_correction[0] != key:
            judged = training.judge_settled(self._settings, self.X_pool, self._state, loss=loss)
            self._last_correction = key, judged
        return self._last_correction[1]
