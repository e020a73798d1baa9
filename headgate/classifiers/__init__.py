"""Local classifiers: ONNX models in the operator's folders, run in this process. No text leaves the machine."""
