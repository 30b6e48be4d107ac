"""Columns of texts: which are, and what becomes of their words, also of new rows."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from ensemble_search.data import normalise, prepare
from ensemble_search.data.preparation import Preparation
from ensemble_search.data.sources import Raw
from ensemble_search.runtime.errors import UserError

N = 300
SETTINGS = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
WORDS = ["late", "parcel", "broken", "glass", "friendly", "staff", "wrong", "colour", "never",
         "again", "Größe", "12"]  # fmt: skip


def sentences(n=N, words=6, seed=0):
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(WORDS, words))} nr{i}." for i in range(n)]


def described(columns=None, **table):
    frame = pd.DataFrame({**table, "n": np.arange(N) % 7, "y": [*"ab"] * (N // 2)})
    return normalise.normalise(Raw(frame, "y", "mine", {"file": "mine.csv"}), columns)


def prepared(columns=None, **table):
    frame, found = described(columns, **table)
    inputs, _, made = prepare.make_split(frame, found, SETTINGS)
    return frame, found, inputs, made


def test_features_are_those_of_scikit_learn():
    texts = np.array([*sentences(), None], dtype=object)
    column = prepare.texts("note", texts, None)
    assert sorted(column.words) == list(column.words)
    own = TfidfVectorizer(vocabulary=list(column.words))
    expected = own.fit_transform(["" if text is None else text for text in texts])
    assert column.idf == pytest.approx(own.idf_, abs=1e-6)
    found = np.full((len(texts), len(column.words)), np.nan)
    column.write(texts, found)
    assert found == pytest.approx(expected.toarray(), abs=1e-6)
    assert not found[-1].any()


def test_words_in_nearest_to_half_of_the_rows_become_features(monkeypatch):
    texts = np.array(["all few", "all half", "all half", "all few most", "all most", "all most"])
    assert prepare.texts("x", texts, None).words == ["few", "half", "most"]
    monkeypatch.setattr(prepare, "MOST_WORDS", 2)
    assert prepare.texts("x", texts, None).words == ["few", "most"]


@pytest.mark.parametrize(
    ("values", "use"),
    [
        (sentences(), "text"),
        ([f"{i}" for i in sentences(60)] * 5, "text"),  # repeated, but of many words
        ([f"P{i:04d}" for i in range(N)], None),
        ([f"{i:032x}-a7" for i in range(N)], None),
        ([f"town {i % 60}" for i in range(N)], "categorical"),
        ([f"{i % 100}" for i in range(N)], "numeric"),
        ([f"Mr. Smith {i}" for i in range(N)], "text"),
        (["red", "blue"] * (N // 2), "categorical"),
        (
            [
                f"{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}{'uvw'[i // 100]}"
                for i in range(N)
            ],
            None,
        ),
        (
            [
                f"{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}{'uvw'[i // 120]}"
                for i in range(N)
            ],
            "text",
        ),
    ],
)
def test_which_columns_are_texts(values, use):
    assert prepare.use_of(pd.Series(values, dtype="str")) == use
    assert prepare.use_of(pd.Series(values, dtype="str"), "text") == "text"


def test_the_study_may_say_that_a_column_is_text():
    table = {"place": [f"{('north', 'south')[i % 2]} hall {i % 9}" for i in range(N)]}
    _, _, inputs, _ = prepared(**table)
    assert [*inputs.features] == ["n", *(f"place={p}" for p in sorted(set(table["place"])))]
    _, found, inputs, _ = prepared({"text": ["place"]}, **table)
    assert [*inputs.features] == ["n", "place:north", "place:south"]
    assert found["columns"]["place"] == "categorical"


def test_new_rows_get_the_features_of_the_split():
    frame, found, inputs, made = prepared(note=sentences(), code=[f"P{i:04d}" for i in range(N)])
    assert made["dropped"] == {"code": "180 of 180 values are distinct (names or identifiers)"}
    assert next(n for n in found["notes"] if "'note'" in n).endswith(
        "text, whose words become features"
    )
    again = Preparation.from_json(json.loads(json.dumps(made["preparation"])))
    rows = prepare.divide(frame, found, SETTINGS)[0]["test"]
    X, notes = again.transform({name: frame[name].iloc[rows].to_numpy() for name in again.names})
    assert X.tolist() == inputs.X_test.tolist()
    assert notes == []
    X, notes = again.transform({"note": ["late late glass unheard", "", None, 5], "n": [1] * 4})
    features = again.features
    late, glass = (X[0, features.index(f"note:{word}")] for word in ("late", "glass"))
    assert late**2 + glass**2 == pytest.approx(1)
    assert late > glass > 0
    assert not X[1:, 1:].any()
    assert notes == []


@pytest.mark.parametrize(
    "forged",
    [
        {"idf": [1.0]},
        {"idf": [float("nan")] * 12},
        {"idf": [0.0] * 12},
        {"idf": [1e-320] * 12},  # squared, 0
        {"idf": [1e38] * 12},
        {"words": ["a"] * 12},
        {"words": []},
        {"words": [1] * 12},
        {"read": "days"},
    ],
)
def test_forged_texts_are_rejected(forged):
    made = prepared(note=sentences())[3]["preparation"]
    (text,) = (c for c in made["columns"] if c["kind"] == "text")
    assert len(text["words"]) == 12
    text |= forged
    with pytest.raises(UserError, match="damaged or forged"):
        Preparation.from_json(made)


def test_what_becomes_of_each_column_is_told():
    table = {
        "price": ["$1,200.50", "$7", None, "tbd", *["$3"] * (N - 4)],
        "note": sentences(),
        "id": [f"P{i:04d}" for i in range(N)],
        "day": [f"{1 + i % 28}.11.98" for i in range(N)],
        "who": ["ann", "bob", "cy"] * (N // 3),
        "same": ["x"] * N,
        "waste": range(N),
    }
    columns = {"drop": ["waste"], "categorical": ["n"], "group": ["who"]}
    frame, found = described(columns, **table)
    told = prepare.reading(found, *prepare.fit(frame, found["columns"], None, found["read"]))
    assert told == [
        ["price", "number: numbers with commas between thousands in $", "1 empty, 1 others",
         "1 feature"],
        ["note", "text", "", "12 features"],
        ["id", "category", "", "dropped: 300 of 300 values are distinct (names or identifiers)"],
        ["day", "date: dates with the day first", "", "3 features"],
        ["same", "category", "", "dropped: variance is 1e-07 or less"],
        ["n", "category", "", "7 features"],
        ["who", "category", "", "no feature: group of rows"],
        ["waste", "", "", "dropped: the study drops it"],
    ]  # fmt: skip
