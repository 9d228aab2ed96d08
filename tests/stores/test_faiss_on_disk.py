"""An index file that names another file: faiss would map that, whatever it is."""

import faiss
import numpy as np
import pytest

from unhub.foundation.errors import StoreError
from unhub.stores import open_store
from unhub.stores.faiss.vetting import other_file

VECTORS = np.random.default_rng(3).normal(size=(200, 16)).astype(np.float32)


_KEPT = []  # faiss does not count references


def _ivf(lists):
    quantiser = faiss.IndexFlatIP(16)
    index = faiss.IndexIVFFlat(quantiser, 16, 2, faiss.METRIC_INNER_PRODUCT)
    index.train(VECTORS)
    kept = faiss.OnDiskInvertedLists(2, index.code_size, str(lists))
    index.replace_invlists(kept, False)
    index.own_invlists = False
    index.add(VECTORS)
    _KEPT.extend((quantiser, kept, index))
    return index


def _behind_a_transform(lists):
    transform = faiss.CenteringTransform(16)
    _KEPT.append(transform)
    return faiss.IndexPreTransform(transform, _ivf(lists))


def _in_a_quantiser(lists):
    outer = faiss.IndexIVFFlat(_ivf(lists), 16, 2, faiss.METRIC_INNER_PRODUCT)
    outer.is_trained = True
    return outer


@pytest.mark.parametrize("make", [_ivf, _behind_a_transform, _in_a_quantiser])
def test_an_index_that_names_another_file_is_not_opened(make, tmp_path):
    lists = tmp_path / "secret.bin"
    index = make(lists)
    _KEPT.append(index)
    faiss.write_index(index, str(tmp_path / "photos.faiss"))
    lists.unlink()  # so that whoever opens it fails in other words
    store = open_store(f"faiss://{tmp_path}/photos.faiss")
    with pytest.raises(StoreError, match=r"keeps its vectors in another file \('.*secret.bin'\)\. .* it is not opened"):
        store.describe()


def test_the_letters_alone_are_no_such_index(tmp_path):
    vectors = VECTORS.copy()
    vectors[7, :4] = np.frombuffer(b"ilod", dtype=np.float32)[0]
    vectors[-1, -1] = np.frombuffer(b"ilod", dtype=np.float32)[0]
    index = faiss.IndexFlatIP(16)
    index.add(vectors)
    faiss.write_index(index, str(tmp_path / "photos.faiss"))
    assert other_file(tmp_path / "photos.faiss") is None
    assert open_store(f"faiss://{tmp_path}/photos.faiss").describe().count == 200
