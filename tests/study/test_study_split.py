"""The published split of the study, from its rule and from published rows."""

import numpy as np
import pytest

from ethereal import datasets
from ethereal_study.sets.parsers import study_split


@pytest.mark.parametrize("name", ["statlog", "mammography", "gesture", "sports"])
def test_study_split_is_the_published_one(name, study_data):
    data = datasets.load(name, data_folder=study_data)
    np.testing.assert_array_equal(study_split(len(data.y)), data.test)


def test_study_split_is_the_published_one_of_gas_in_the_order_of_file_names(study_data):
    data = datasets.load("gas", data_folder=study_data)
    # Rows per batch: all but 7 and 10 are whole here. The study read 1, 10, 2, ... and skipped first rows.
    sizes = {1: 445, 2: 1244, 3: 1586, 4: 161, 5: 197, 6: 2300, 7: 3613, 8: 294, 9: 470, 10: 3600}
    test, start = study_split(13900), 0
    for batch in sorted(sizes, key=str):
        rows = test[start : start + sizes[batch] - 1]
        start += sizes[batch] - 1
        here = data.test[data.groups == batch]
        assert here.sum() == rows.sum()
        if batch not in (7, 10):
            np.testing.assert_array_equal(here[1:], rows)


def test_study_split_is_the_published_one_of_emg_unmarked_windows_first(study_data):
    data = datasets.load("emg", data_folder=study_data)
    test = study_split(14232)
    absent_before = {2: 173, 19: 333, 21: 313, 53: 335, 59: 243}  # unmarked windows of recordings that lack
    start = 0
    for recording in range(64):
        start += absent_before.get(recording, 0)
        here = data.test[(data.groups == recording) & (data.y == 0)]
        np.testing.assert_array_equal(here, test[start : start + len(here)])
        start += len(here)
    assert start == 9341


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n_rows is 0"):
        study_split(0)
