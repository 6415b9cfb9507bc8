"""Model files (`.etm`), which are safetensors with a description in JSON and a checksum.

A file holds the arrays of the model as tensors and one metadata entry, `ethereal`, a JSON object with the
rest. Its `sha256` is that of the whole file with this value written as 64 zeros, so any changed byte shows.
Nothing in a file is executed, and sizes are checked before memory is taken for them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from ethereal.base.atomic import write_bytes
from ethereal.features.feature_map import FeatureMap
from ethereal.features.front_end import FrontEnd
from ethereal.model.checks import Fitted
from ethereal.model.deployment import Deployment
from ethereal.model.needs import EVERY_ANSWER, FRAMED, PATCHES, Supports
from ethereal.model.output import ClassesOrUnknown, NormalOrNot, Number
from ethereal.model.patch import Patch
from ethereal.model.seen import Seen
from ethereal.normal import TENSORS, Normal

if TYPE_CHECKING:
    from ethereal.model import Model

# 1 has no precision and compares in float64, 2 has no front end, 3 always answers after all clauses and does
# not know its training rows, 4 has no numbers as answers, 5 does not know what is normal, 6 has
# no patches. A file has the lowest version that holds its model.
FORMAT_VERSION = 7
MAX_FILE_BYTES = 2**30  # a model of 250 million includes, beyond which a file is something else
MAX_HEADER_BYTES = 2**24  # names of 100,000 features, where JSON takes many times its size in memory
MAX_ITEM_BYTES = 100  # of memory for an item of a list in the description, at most ten times the file in all
LEAST_ITEMS = 2**17
MAX_LABEL_BYTES = 2**24  # of memory for all labels
_PIECE = 2**20
_NO_DIGEST = "0" * 64
_DIGEST = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')  # quotes are escaped, as this is JSON within JSON
_TYPES = {  # of the tensors
    "literals": np.int32,
    "offsets": np.int64,
    "weights": np.int32,
    "boolean_rates": np.float32,
    "typical_rows": np.uint8,
    "thresholds": np.float64,
    "threshold_offsets": np.int64,
    "missing": np.bool_,
    "is_boolean": np.bool_,  # only where a feature is 0 or 1
    "seen_low": np.float32,
    "seen_high": np.float32,
    **TENSORS,
}
_LABEL_KINDS = {"bool": bool, "int": int, "float": float, "str": str, "object": str}
SUPPORTS = Supports("a model file", front_ends=FRAMED, outputs=EVERY_ANSWER, patches=PATCHES, early=True)


class ModelFileError(ValueError):
    """A file that is not a whole model file this version can read."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, all or nothing."""
    write_bytes(path, to_file_bytes(model))


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file. Raise `ModelFileError` when it is damaged, foreign or too new."""
    try:
        with open(path, "rb") as file:
            head = file.read(8)
            head += file.read(_header_length(head))
            _about(head)  # a foreign file is not read any further
            # In pieces, because a single read reserves the memory for all that it may return.
            rest = islice(iter(lambda: file.read(_PIECE), b""), MAX_FILE_BYTES // _PIECE + 1)
            return from_file_bytes(head + b"".join(rest))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__


def to_file_bytes(model: Model) -> bytes:
    """Return the contents of a model file. The same model gives the same bytes."""
    SUPPORTS.check(model.needs)
    names = "literals", "offsets", "weights", "boolean_rates", "typical_rows"
    tensors = {name: part for name in names if (part := getattr(model, name)) is not None}
    if model.seen is not None:
        tensors |= {"seen_low": model.seen.low, "seen_high": model.seen.high}
    if model.normal is not None:
        tensors |= model.normal.tensors()
    booleanizer: dict[str, Any] | None = None
    if model.fitted is not None:
        feature_map = model.feature_map
        tensors |= {n: getattr(feature_map, n) for n in ("thresholds", "threshold_offsets", "missing")}
        if feature_map.is_boolean.any():
            tensors["is_boolean"] = feature_map.is_boolean
        booleanizer = {
            "encoding": feature_map.encoding,
            "missing": feature_map.missing_policy,
            "precision": feature_map.precision,
            "named": model.fitted.names is not None,
        }
        if feature_map.categories:  # {} is not written, so that files of other models stay as they were
            booleanizer["categories"] = {str(f): names for f, names in feature_map.categories.items()}
    output = model.output
    about: dict[str, Any] = {
        "format_version": _version_of(model),
        "sha256": _NO_DIGEST,
        "n_booleans": model.n_booleans,
        "booleanizer": booleanizer,
        "feature_names": model.feature_names,
        "provenance": dict(model.provenance),
        "temperature": model.temperature,
    }
    if isinstance(output, Number):
        about["number"] = output.as_dict()
    else:
        about["classes"] = describe_labels(output.labels)
    if model.patch is not None:
        about["patch"] = model.patch.as_dict()
    if model.front_end is not None:
        about["front_end"] = model.front_end.as_dict()
    if isinstance(output, ClassesOrUnknown):  # NaN is not in JSON
        label = output.unknown if output.unknown == output.unknown else None
        about["unknown"] = {"margin": output.margin, "label": label}
    if model.seen is not None:
        about["seen"] = {"limit": model.seen.limit, "rates": model.seen.rates}
    if model.normal is not None:
        about["normal"] = {"limit": model.normal.limit, "answers": isinstance(output, NormalOrNot)}
    if model.early:
        about["early"] = model.early
    if model.deployment is not None:  # which older versions of the package do not look for
        about["deployment"] = model.deployment.as_dict()
    return _sealed(about, tensors)


def _sealed(about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> bytes:
    """Return the file of a description and its arrays, with the checksum of all."""
    text = json.dumps(about, separators=(",", ":"), sort_keys=True)
    # Only one entry, because safetensors writes several in no particular order.
    blank = safetensors.save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, {"ethereal": text})
    if int.from_bytes(blank[:8], "little") > MAX_HEADER_BYTES or len(blank) > MAX_FILE_BYTES:
        raise ValueError(
            f"the model takes {len(blank)} bytes, its names, labels and provenance {len(text)} of them. "
            f"A file holds at most {MAX_FILE_BYTES} and {MAX_HEADER_BYTES}."
        )
    start, end = _digest_place(blank)
    return blank[:start] + hashlib.sha256(blank).hexdigest().encode() + blank[end:]


def _version_of(model: Model) -> int:
    """Return the lowest version that holds a model."""
    if model.patch is not None:
        return 7
    if model.normal is not None:
        return 6
    if isinstance(model.output, Number):
        return 5
    if isinstance(model.output, ClassesOrUnknown) or model.seen is not None or model.early:
        return 4
    return 2 if model.front_end is None else 3


def from_file_bytes(data: bytes) -> Model:
    """Return the model from the contents of a model file, every part of it checked."""
    from ethereal.model.model import DEFAULT_TEMPERATURE, Model

    if len(data) > MAX_FILE_BYTES:
        raise ModelFileError(f"the file is larger than a model file may be ({MAX_FILE_BYTES} bytes)")
    about = _about(data)
    _check_digest(data)
    try:
        tensors = safetensors.load(data)
        names, version = about["feature_names"], about["format_version"]
        # Files of version 3 have a front end, those of later versions may.
        answer: dict[str, Any] = (
            {"output": Number(**about["number"])}
            if version > 4 and "number" in about
            else {"classes": read_labels(about["classes"])}
        )
        has_front_end = version == 3 or (version > 3 and "front_end" in about)
        if not isinstance(names, (list, type(None))):
            raise TypeError(f"feature_names is {names!r}")
        model = Model(
            *(_tensor(tensors, name) for name in ("literals", "offsets", "weights")),
            n_booleans=about["n_booleans"],
            **answer,
            booleanizer=None if about["booleanizer"] is None else _booleanizer(about, tensors),
            front_end=FrontEnd.from_dict(about["front_end"]) if has_front_end else None,
            feature_names=names,
            boolean_rates=_optional(tensors, "boolean_rates"),
            typical_rows=_optional(tensors, "typical_rows"),
            provenance=about["provenance"],
            temperature=about.get("temperature", DEFAULT_TEMPERATURE),
            early=about.get("early", ()) if version > 3 else (),
            patch=Patch(**about["patch"]) if version > 6 and "patch" in about else None,
        )
        seen = None
        if "seen" in about:
            low, high = _tensor(tensors, "seen_low"), _tensor(tensors, "seen_high")
            seen = Seen(low, high, about["seen"]["limit"], tuple(about["seen"]["rates"]))
        normal = None
        if version > 5 and "normal" in about:
            arrays = {name.removeprefix("normal_"): _tensor(tensors, name) for name in TENSORS}
            normal = Normal(**arrays, limit=about["normal"]["limit"])
        if tensors:
            raise ValueError(f"tensor {min(tensors)!r} does not belong into a model file")
        if version > 3 and "unknown" in about:
            model = model.with_unknown(**about["unknown"])
        if "deployment" in about:
            model = model.with_deployment(Deployment(**about["deployment"]))
        if normal is not None:
            answers = about["normal"]["answers"] is True
            model = model._with(normal=normal, output=NormalOrNot(model.classes) if answers else model.output)
        return model if seen is None else model._with(seen=seen)
    except KeyError as error:
        raise ModelFileError(f"the model file has no {error}") from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, SafetensorError) as error:
        raise ModelFileError(f"the model file is not valid: {error}") from error


def _booleanizer(about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Fitted:
    kind, names = about["booleanizer"], about["feature_names"]
    feature_map = FeatureMap(
        **{name: _tensor(tensors, name) for name in ("thresholds", "threshold_offsets", "missing")},
        encoding=kind["encoding"],
        missing_policy=kind["missing"],
        precision=kind["precision"] if about["format_version"] > 1 else "float64",
        is_boolean=_optional(tensors, "is_boolean"),
        categories={int(f): names for f, names in kind.get("categories", {}).items()},
    )
    return Fitted(feature_map, tuple(names) if kind["named"] and names is not None else None)


def _about(data: bytes) -> dict[str, Any]:
    """Return the JSON description of a file that begins with `data`, if its version is known here."""
    end = 8 + _header_length(data)
    if (n_items := data.count(b",", 8, end)) > max(LEAST_ITEMS, 10 * end // MAX_ITEM_BYTES):
        raise ModelFileError(
            f"its description has {n_items:,} items in {end:,} bytes, more than may be read into memory. "
            "The file is damaged, or was made to fill the memory."
        )
    try:
        header = json.loads(data[8:end])
        about = json.loads(header["__metadata__"]["ethereal"])
        version = about["format_version"]
        if not isinstance(version, int) or version < 1:
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError("this is not a model file, or its beginning is damaged") from None
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"the file has format version {version}, this package reads up to {FORMAT_VERSION}. "
            "Upgrade ethereal-tm to read it."
        )
    return about  # type: ignore[no-any-return]


def _header_length(data: bytes) -> int:
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise ModelFileError("this is not a model file, or its beginning is damaged")
    return length


def _check_digest(data: bytes) -> None:
    start, end = _digest_place(data)
    digest = hashlib.sha256(data[:start])
    digest.update(_NO_DIGEST.encode())
    digest.update(memoryview(data)[end:])
    if digest.hexdigest().encode() != data[start:end]:
        raise ModelFileError("the file is damaged, because its checksum does not fit its contents")


def _digest_place(data: bytes) -> tuple[int, int]:
    match = _DIGEST.search(data, 8, 8 + _header_length(data))
    if match is None:
        raise ModelFileError("the file is damaged, because its checksum is not there")
    return match.span(1)


def _tensor(tensors: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    tensor = tensors.pop(name)
    if tensor.dtype != _TYPES[name]:
        raise ValueError(f"tensor {name!r} has dtype {tensor.dtype} instead of {np.dtype(_TYPES[name])}")
    return tensor


def _optional(tensors: dict[str, NDArray[Any]], name: str) -> NDArray[Any] | None:
    return _tensor(tensors, name) if name in tensors else None


def describe_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON can hold them, with the name of their type."""
    dtype, values = "str" if classes.dtype.kind == "U" else str(classes.dtype), classes.tolist()
    _check_lengths(dtype, values)
    return {"dtype": dtype, "values": values}


def _check_lengths(dtype: str, values: list[Any]) -> None:
    """Refuse a long label among many, because an array has room for the longest text in every place."""
    longest = max(map(len, values), default=0) if dtype == "str" else 0
    if 4 * len(values) * longest > MAX_LABEL_BYTES:
        raise ValueError(
            f"the labels are too long. {len(values):,} labels of up to {longest:,} characters take "
            f"{4 * len(values) * longest:,} bytes of memory, and at most {MAX_LABEL_BYTES:,} are allowed."
        )


def read_labels(about: dict[str, Any]) -> NDArray[Any]:
    """Return labels in their own type. Each must be what the type says, so that nothing is cast."""
    dtype, values = about["dtype"], about["values"]
    expected = _LABEL_KINDS.get(re.sub(r"^u?(int|float)(8|16|32|64)$", r"\1", dtype))
    if expected is None or not isinstance(values, list) or any(type(v) is not expected for v in values):
        raise ValueError(f"labels are not of the type {dtype!r} that the file names")
    _check_lengths(dtype, values)
    if expected is int and not all(np.iinfo(dtype).min <= v <= np.iinfo(dtype).max for v in values):
        raise ValueError(f"labels do not fit the type {dtype!r} that the file names")
    return np.array(values, dtype=dtype)
