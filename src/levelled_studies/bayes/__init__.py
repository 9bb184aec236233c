"""Torch networks with a posterior: radial Bayesian networks and Monte Carlo dropout.

    model = RadialClassifier("cnn", seed=0).fit(X, y, sample_weight=weights, validation=(Xv, yv))
    samples = model.sample_proba(pool, 100)     # items, posterior samples, classes
    lv.scores.bald(samples)

Parameters of both classifiers, beside those their names explain:

    network               "cnn" for images, "mlp" for rows of features or small images
    classes               all classes, where the labels do not contain all of them
    max_steps             the most steps of training; without validation, all are taken
    check_every           steps between looks at the validation loss
    patience              looks without a better loss before training stops
    training_samples      networks sampled for a step of training
    test_samples          networks sampled for the validation loss and for `predict_proba`
    acquisition_samples   networks sampled for `sample_proba`
    scaling               (mean, std) of the inputs; else those of the training set, by channel
                          of an image or by column of a table
"""

from levelled._optional import optional

optional("torch", extra="torch")
optional("sklearn", extra="sklearn")

from levelled_studies.bayes.classifiers import DropoutClassifier, RadialClassifier  # noqa: E402

__all__ = ["DropoutClassifier", "RadialClassifier"]
