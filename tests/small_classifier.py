"""Small classifiers as files: what a trained one is, in a few nodes.

The model looks each token up, adds up what the tokens say, and answers one number a label. The tokenizer knows the
words of ``WORDS``; every other word is the one for unknown words.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ("ignore", "previous", "instructions", "exfiltrate", "password")
_FIRST = 3  # after the words for unknown, for the beginning and for the end
SETTINGS = """\
labels: [benign, injection]
match: [injection]
max_tokens: 16
stride: 4
"""


def write_classifier(
    folder: Path,
    *,
    settings: str = SETTINGS,
    says: Sequence[Sequence[float]] = ((0.0, 4.0),) * len(WORDS),
    model: onnx.ModelProto | None = None,
) -> Path:
    """``says``: what each of ``WORDS`` adds to the output of each label; the first label is said without any."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classifier.yaml").write_text(settings)
    write_tokenizer(folder / "tokenizer.json")
    onnx.save(summing_model(says) if model is None else model, folder / "model.onnx")
    return folder


def write_tokenizer(file: Path) -> None:
    known = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, **{word: _FIRST + at for at, word in enumerate(WORDS)}}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(file))


def summing_model(
    says: Sequence[Sequence[float]],
    *,
    length: int | str = "length",
    inputs: Sequence[str] = ("input_ids",),
    repeats: int = 0,
    keep_tokens: bool = False,
) -> onnx.ModelProto:
    """``repeats``: products of large matrices before the answer, which take time and change nothing."""
    labels = len(says[0])
    first = [2.0] + [0.0] * (labels - 1)
    table = numpy.array([[0.0] * labels, first, [0.0] * labels, *says], numpy.float32)
    constants = [numpy_helper.from_array(table, "table"), numpy_helper.from_array(numpy.array([1]), "axis")]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["said"])]
    shape: list[int | str] = ["batch", labels]
    if keep_tokens:
        nodes.append(helper.make_node("Identity", ["said"], ["summed"]))
        shape = ["batch", length, labels]
    else:
        nodes.append(helper.make_node("ReduceSum", ["said", "axis"], ["summed"], keepdims=0))
    if repeats:
        constants.append(numpy_helper.from_array(numpy.zeros((600, 600), numpy.float32), "zeros"))
        # Begins with what depends on the texts, so that nothing is worked out when the model is loaded.
        constants.append(numpy_helper.from_array(numpy.array([600, 600]), "square"))
        nodes.append(helper.make_node("ReduceMax", ["summed"], ["seed"], keepdims=1))
        nodes.append(helper.make_node("Expand", ["seed", "square"], ["m0"]))
        nodes += [helper.make_node("MatMul", [f"m{at}", "zeros"], [f"m{at + 1}"]) for at in range(repeats)]
        nodes.append(helper.make_node("ReduceMax", [f"m{repeats}"], ["nothing"], keepdims=0))
        nodes.append(helper.make_node("Add", ["summed", "nothing"], ["logits"]))
    else:
        nodes.append(helper.make_node("Identity", ["summed"], ["logits"]))
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    if not repeats:
        onnx.checker.check_model(model)
    return model
