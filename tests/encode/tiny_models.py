"""Tiny models with random weights, made on the spot and saved as their libraries save them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from unhub.encoders.encoder import quiet

from . import standin

WORDS = [
    "a",
    "red",
    "green",
    "blue",
    "small",
    "big",
    "dog",
    "cat",
    "runs",
    "sleeps",
    "on",
    "the",
    "in",
    "house",
    "garden",
    "street",
    "bicycle",
    "piano",
    "sings",
]
RATE = 16_000


def tokenizer(length: int, **special: str) -> Any:
    """A tokenizer of whole words, with a beginning and an end."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = {"bos_token": "<s>", "pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"} | special
    vocabulary = {word: at for at, word in enumerate([*dict.fromkeys(names.values()), *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])]
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=length, **names)


def save(folder: Path, *parts: Any) -> Path:
    with quiet():
        for part in parts:
            part.save_pretrained(folder)
    return folder


def bert(vocabulary: int = 24) -> Any:
    return transformers.BertConfig(
        vocab_size=vocabulary, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40, pad_token_id=1,
    )  # fmt: skip


def image_processor() -> Any:
    with quiet():
        return transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def clip(models: Path) -> Path:
    """A CLIP of two layers."""
    return make_clip(models / "clip", seed=0)


@pytest.fixture(scope="session")
def other_clip(models: Path) -> Path:
    """The same with other weights."""
    return make_clip(models / "other", seed=1)


def make_clip(folder: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    text = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 20, "bos_token_id": 0, "pad_token_id": 1,
            "eos_token_id": 3}  # fmt: skip
    vision = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
              "image_size": 32, "patch_size": 8}  # fmt: skip
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
    return save(folder, transformers.CLIPModel(config), tokenizer(20), image_processor())


@pytest.fixture(scope="session")
def clap(models: Path) -> Path:
    """A CLAP of a few layers that hears half a second."""
    torch.manual_seed(2)
    audio = {"hidden_size": 16, "patch_embeds_hidden_size": 8, "depths": [1, 1], "num_attention_heads": [1, 1],
             "spec_size": 64, "num_mel_bins": 16, "patch_size": 4, "patch_stride": [4, 4], "window_size": 4,
             "num_hidden_layers": 2, "enable_fusion": False, "hidden_dropout_prob": 0.0}  # fmt: skip
    text = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 22, "pad_token_id": 1}  # fmt: skip
    config = transformers.ClapConfig(text_config=text, audio_config=audio, projection_dim=12)
    extractor = transformers.ClapFeatureExtractor(
        feature_size=16, sampling_rate=RATE, hop_length=160, fft_window_size=400, max_length_s=1, frequency_max=8000,
        truncation="rand_trunc", padding="repeatpad",
    )  # fmt: skip
    return save(models / "clap", transformers.ClapModel(config), tokenizer(100), extractor)


@pytest.fixture(scope="session")
def dinov2(models: Path) -> Path:
    """A DINOv2 of two layers: no text, no get_image_features."""
    torch.manual_seed(3)
    config = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8
    )
    return save(models / "dinov2", transformers.Dinov2Model(config), image_processor())


@pytest.fixture(scope="session")
def classifier(models: Path) -> Path:
    """A ViT that was saved as a classifier, so that its files have no pooling layer."""
    torch.manual_seed(4)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8
    )
    return save(models / "vit", transformers.ViTForImageClassification(config), image_processor())


@pytest.fixture(scope="session")
def plain_bert(models: Path) -> Path:
    """A BERT as transformers saves it."""
    torch.manual_seed(5)
    return save(models / "bert", transformers.BertModel(bert()), tokenizer(30))


@pytest.fixture(scope="session")
def sentences(models: Path, plain_bert: Path) -> Path:
    """A folder of sentence-transformers: that BERT, and the mean of its tokens."""
    import sentence_transformers

    try:
        from sentence_transformers.sentence_transformer import modules as parts
    except ImportError:
        from sentence_transformers import models as parts
    with quiet():
        word = parts.Transformer(str(plain_bert), max_seq_length=30)
        made = sentence_transformers.SentenceTransformer(modules=[word, parts.Pooling(16)], device="cpu")
        made.save(str(models / "sentences"))
    return models / "sentences"


@pytest.fixture(scope="session")
def open_clip() -> Any:
    """The library; a stand-in takes the place of torchvision's transforms where torchvision does not fit torch."""
    try:
        return importlib.import_module("open_clip")
    except (ImportError, RuntimeError) as error:
        if getattr(error, "name", None) == "open_clip":
            pytest.skip("open_clip is not installed")
        with standin.torchvision():
            return importlib.import_module("open_clip")


@pytest.fixture(scope="session")
def open_clip_folder(models: Path, open_clip: Any) -> Path:
    """A model of open_clip from a config, with random weights, saved the way that its hub folders are."""
    from safetensors.torch import save_file

    text = {"context_length": 12, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
    vision = {"image_size": 32, "layers": 2, "width": 16, "patch_size": 8, "head_width": 8}
    config = {"embed_dim": 12, "text_cfg": text, "vision_cfg": vision}
    torch.manual_seed(6)
    made = open_clip.CLIP(**config)
    folder = models / "open_clip"
    folder.mkdir()
    chosen = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic", "resize_mode": "shortest"}
    whole = {"model_cfg": config, "preprocess_cfg": chosen}
    (folder / "open_clip_config.json").write_text(json.dumps(whole))
    save_file(
        {name: each.contiguous() for name, each in made.state_dict().items()}, folder / "open_clip_model.safetensors"
    )
    return folder
