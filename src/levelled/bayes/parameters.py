"""The manners of a scikit-learn estimator, without scikit-learn."""

from dataclasses import dataclass, fields
from typing import Any, Self

from levelled.errors import InputError

__all__ = ["Parameters"]


@dataclass(eq=False)
class Parameters:
    """A classifier whose fields are its parameters: `sklearn.base.clone` and friends take it."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none has parameters of its own, so `deep` changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401
        """Change parameters; the next `fit` uses them."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """What scikit-learn asks of a classifier before it works with it."""
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
        )
