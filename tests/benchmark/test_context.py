"""Tests of the cache of results that cells of one job share."""

from __future__ import annotations

import pytest

from onlinefa_benchmark.context import Cache, Context, SilentProgress


@pytest.fixture
def get():
    """Return a function that gets a result and records which results were made."""
    cache, made = Cache(), []

    def get(kind, key, keep=1):
        def make():
            made.append((kind, key))
            return f"{kind} {key}"

        assert cache.get(kind, key, make, keep) == f"{kind} {key}"

    get.made = made
    return get


def test_the_latest_result_of_a_kind_is_made_once(get):
    for key in (1, 1, 2, 2, 1):
        get("network", key)
    assert get.made == [("network", 1), ("network", 2), ("network", 1)]


def test_kinds_do_not_replace_each_other(get):
    for _ in range(2):
        get("network", 1)
        get("table", 1)
    assert get.made == [("network", 1), ("table", 1)]


def test_the_most_recently_used_results_are_kept(get):
    for key in (1, 2, 1, 3, 1, 2):  # 3 replaces 2, which was used before 1
        get("process", key, keep=2)
    assert get.made == [("process", key) for key in (1, 2, 3, 2)]


def test_failures_are_not_cached():
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.get("network", 1, lambda: 1 / 0)
    assert cache.get("network", 1, lambda: 5) == 5


def test_a_result_can_be_made_from_another_cached_one():
    cache = Cache()
    assert cache.get("task", 1, lambda: cache.get("network", 1, lambda: 5) + 1) == 6


def test_contexts_share_a_cache_only_if_it_is_passed_to_both():
    one, two = Context(None), Context(None)
    assert one.cache is not two.cache
    assert Context(None, cache=one.cache).cache is one.cache


def test_a_context_without_tables_names_the_missing_table():
    with pytest.raises(LookupError, match="no table 'yacht'"):
        Context(None).read_table("yacht")


def test_a_context_without_images_or_weights_names_what_is_missing():
    with pytest.raises(LookupError, match="no image set 'mnist'"):
        Context(None).read_images("mnist")
    with pytest.raises(LookupError, match="no weights 'efficientnet_lite0'"):
        Context(None).weights_path("efficientnet_lite0")


def test_silent_progress_yields_all_items():
    assert list(SilentProgress().over("abc", "letters")) == list("abc")
