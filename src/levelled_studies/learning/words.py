"""Cases in words, for figures and claims."""

from levelled_studies.learning.settings import Case

__all__ = ["named", "titled"]

_DATA = {
    "diabetes": "diabetes",
    "breast-cancer": "breast cancer",
    "digits": "digits",
    "hours": "Adult: hours by age",
    "hours-few": "Adult: hours by age, schooling",
    "hours-all": "Adult: hours by 107 columns",
    "amount": "card payments: log amount",
    "adult": "Adult: income by 108 columns",
    "adult-age": "Adult: income by age",
    "adult-few": "Adult: income by 3 columns",
    "adult-coded": "Adult: income by 14 columns",
    "fraud": "card payments: 2% frauds",
    "fashion": "FashionMNIST",
    "fashion-uneven": "FashionMNIST, uneven",
}
_MODELS = {
    "ridge": "ridge regression",
    "logistic": "logistic regression",
    "tree": "a tree of depth 3",
    "forest": "a random forest",
    "boosting": "boosted trees",
    "stumps": "boosted stumps",
}


def named(case: Case) -> str:
    """For a sentence.

    >>> named(Case("adult", "logistic", "entropy"))
    'logistic regression (Adult: income by 108 columns; score: entropy)'
    """
    return f"{_MODELS[case.model]} ({_DATA[case.data]}; score: {case.score})"


def titled(case: Case) -> str:
    """For the title of a panel.

    >>> titled(Case("fraud", "stumps", "entropy"))
    'card payments: 2% frauds, stumps, entropy'
    """
    return f"{_DATA[case.data]}, {case.model}, {case.score}"
