"""The example of the README does what its comments say."""

import re
from ast import literal_eval
from pathlib import Path


def test_the_example_of_the_readme() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102 - our own text
    shown = re.findall(r"^(\S.*?)\s+# (b'.*')$", example, re.MULTILINE)
    assert len(shown) == 3
    for expression, answer in shown:
        assert eval(expression, names) == literal_eval(answer)  # noqa: S307 - our own text
