"""One classifier in memory: texts to windows of tokens, windows to outputs of the model.

ONNX Runtime and ``tokenizers`` come with the extra ``classifier`` and are imported only where a classifier is asked.
Both read local files; nothing is fetched. They release the interpreter's lock while they work.
"""

import importlib
from collections.abc import Sequence
from typing import Any, Final

import structlog

from headgate.classifiers.folder import ClassifierFolder
from headgate.classifiers.model import Classification, classification
from headgate.judges.model import Failure, JudgeError

_log = structlog.get_logger(__name__)

WINDOWS_MAX: Final = 128
CHARACTERS_MAX: Final = 256 * 1024
_THREADS_OF_A_RUN: Final = 1
_ONLY_ERRORS: Final = 3
_INPUTS: Final = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""What models take, and what an encoding calls it."""

_NUMBERS: Final = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_EXTRA_MISSING: Final = "local classifiers need packages that are not installed: pip install 'headgate[classifier]'"


class Cancelled(Exception):  # noqa: N818 - no error: nobody waits for the answer any more
    """The run was given up."""


class Run:
    """One classification that can be given up from another thread: between two nodes of the model, at the latest."""

    def __init__(self) -> None:
        self.options: Any = None
        self._is_cancelled = False

    def begin(self, options: Any) -> None:
        self.options = options
        self.check()

    def cancel(self) -> None:
        self._is_cancelled = True
        if self.options is not None:
            self.options.terminate = True

    def check(self) -> None:
        if self._is_cancelled:
            raise Cancelled


class ClassifierSession:
    """Safe to ask from several threads at once."""

    def __init__(self, folder: ClassifierFolder) -> None:
        """Reads and tries the model, which may take seconds: run it in a thread. Raises JudgeError."""
        try:
            self._onnxruntime: Any = importlib.import_module("onnxruntime")
            self._numpy: Any = importlib.import_module("numpy")
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError as error:
            raise JudgeError(Failure.NOT_CONFIGURED, _EXTRA_MISSING) from error
        self._settings = folder.settings()
        self._digest = folder.digest()
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder.tokenizer))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(max_length=self._settings.max_tokens, stride=self._settings.stride)
        except Exception as error:
            _log.warning("classifier_tokenizer_failed", classifier=folder.name, error=str(error))
            raise folder.unusable("tokenizer.json cannot be used as a tokenizer with these max_tokens") from error
        try:
            self._session: Any = self._onnxruntime.InferenceSession(
                str(folder.model), self._options(), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            _log.warning("classifier_model_failed", classifier=folder.name, error=str(error))
            raise folder.unusable(f"model.onnx cannot be loaded ({type(error).__name__})") from error
        self._inputs = self._checked_inputs(folder)
        outputs = [one.name for one in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]
        try:
            self.classify(["a " * self._settings.max_tokens], Run(), windows_max=1, partly=True)
        except JudgeError as error:
            raise folder.unusable(f"a trial failed: {error.message}") from error

    def classify(
        self, texts: Sequence[str], run: Run, *, windows_max: int = WINDOWS_MAX, partly: bool = False
    ) -> Classification:
        """Each text in windows; nothing is cut off, unless ``partly``. Raises JudgeError, and Cancelled."""
        run.begin(self._onnxruntime.RunOptions())
        if sum(map(len, texts)) > CHARACTERS_MAX and not partly:
            raise JudgeError(Failure.TOO_LARGE, f"the texts have more than {CHARACTERS_MAX} characters")
        windows: list[Any] = []
        for text in texts:
            run.check()
            encoding = self._tokenizer.encode(text)
            windows += [encoding, *encoding.overflowing]
            if len(windows) > windows_max and not partly:
                raise JudgeError(Failure.TOO_LARGE, f"the texts have more than {windows_max} windows of tokens")
        seen = [window for window in windows[:windows_max] if window.ids]
        if windows and not seen:
            raise JudgeError(Failure.NOT_INSPECTED, "the tokenizer makes no token of the texts")
        outputs = [self._outputs(window, run) for window in seen]
        return classification(outputs, self._settings, self._digest)

    def _outputs(self, window: Any, run: Run) -> Sequence[float]:
        run.check()
        fed = {
            name: self._numpy.asarray([getattr(window, _INPUTS[name])], dtype=kind)
            for name, kind in self._inputs.items()
        }
        try:
            found = self._session.run([self._output], fed, run.options)[0]
        except Exception as error:
            run.check()
            _log.warning("classifier_run_failed", error=str(error)[:500])
            raise JudgeError(Failure.PROVIDER_ERROR, f"the model failed ({type(error).__name__})") from error
        wanted = (1, len(self._settings.labels))
        if getattr(found, "shape", None) != wanted or found.dtype.kind != "f":
            raise JudgeError(
                Failure.MALFORMED_ANSWER,
                f"the output {self._output} has the shape {getattr(found, 'shape', None)} in place of {wanted}",
            )
        return [float(one) for one in found[0]]

    def _checked_inputs(self, folder: ClassifierFolder) -> dict[str, str]:
        """The type of number that each takes."""
        inputs: dict[str, str] = {}
        for one in self._session.get_inputs():
            if one.name not in _INPUTS or one.type not in _NUMBERS:
                known = ", ".join(_INPUTS)
                raise folder.unusable(f"model.onnx takes {one.name} ({one.type}); known: {known}, of integers")
            sizes = list(one.shape)
            if len(sizes) != 2 or isinstance(sizes[1], int) or (isinstance(sizes[0], int) and sizes[0] != 1):
                raise folder.unusable(f"model.onnx takes {one.name} of a fixed size: export it with dynamic axes")
            inputs[one.name] = _NUMBERS[one.type]
        if "input_ids" not in inputs:
            raise folder.unusable("model.onnx does not take input_ids")
        return inputs

    def _options(self) -> Any:
        options = self._onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = _THREADS_OF_A_RUN
        options.enable_cpu_mem_arena = False  # it keeps the memory of the largest run for ever
        options.enable_mem_pattern = False  # windows differ in length
        options.log_severity_level = _ONLY_ERRORS
        return options
