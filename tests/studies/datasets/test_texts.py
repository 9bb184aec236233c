import json

from levelled_studies.datasets.texts import folders_of_texts, mails, reviews


def test_reviews_come_from_one_json_file() -> None:
    rows = [{"t": "Dull.", "s": 0}, {"t": "Großartig, 10/10 🎬", "s": 1}]
    parts = reviews({"reviews.json": json.dumps(rows).encode()})
    assert parts["X"].tolist() == ["Dull.", "Großartig, 10/10 🎬"]
    assert parts["y"].tolist() == [0, 1]


def test_a_folder_is_a_class_and_a_file_a_text_in_one_of_two_encodings() -> None:
    members = {
        "c/data/politics/001.txt": "It cost £3".encode(),
        "c/data/sport/001.txt": "It cost £4".encode("latin-1"),
        "c/data/sport/002.txt": b"",
    }
    parts = folders_of_texts(members)
    assert parts["X"].tolist() == ["It cost £3", "It cost £4", ""]
    assert parts["y"].tolist() == [0, 1, 1]


def test_the_group_of_a_mail_says_whether_it_is_spam() -> None:
    groups = ["easy-ham-1", "spam-2", "hard-ham-1"]
    members = {
        f"{n}.json": json.dumps({"text": f"Mail {n}", "group": group}).encode()
        for n, group in enumerate(groups)
    }
    parts = mails(members)
    assert parts["X"].tolist() == ["Mail 0", "Mail 1", "Mail 2"]
    assert parts["y"].tolist() == [0, 1, 0]
