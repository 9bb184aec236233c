"""A classifier as scikit-learn knows one, without importing it: parameters, tags, fitted or not."""

from dataclasses import dataclass, fields
from typing import Any, Self

from levelled.errors import InputError
from levelled.models import not_trained


@dataclass(eq=False)
class ClassifierEstimator:
    """A dataclass whose fields are the parameters of a classifier."""

    network: str = "cnn"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none has parameters of its own, so `deep` changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change parameters; the next `fit` uses them."""
        names = self.get_params()
        for name, value in params.items():
            if name not in names:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}."
                )
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """True after `fit`; scikit-learn calls this."""
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """The tags by which scikit-learn recognises a classifier of rows, or of images."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=self.network != "cnn", three_d_array=True),
        )

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_trained(f"This {type(self).__name__} is not fitted yet: call fit first.")
