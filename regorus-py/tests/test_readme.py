"""The example of the README does what its comments say."""

import re
from ast import literal_eval
from pathlib import Path

from regorus import blocked_builtins, builtins

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_lists_of_builtins() -> None:
    _, added, rest = re.split(r"\| added \|.*\n|Left out on purpose: ", README)
    left_out = rest.split("Guarded (")[0]
    in_table = {name for line in added.splitlines() for name in re.findall(r"`([a-z_0-9.]+)`", line.split(" | ")[0])}
    assert in_table
    assert in_table <= builtins().keys()
    assert set(re.findall(r"`([a-z_0-9.]+)`", left_out)) == blocked_builtins().keys()
    assert not builtins().keys() & blocked_builtins().keys()


def test_the_example_of_the_readme() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102 - our own text
    shown = re.findall(r"^(\S.*?)\s+# (b'.*')$", example, re.MULTILINE)
    assert len(shown) == 3
    for expression, answer in shown:
        assert eval(expression, names) == literal_eval(answer)  # noqa: S307 - our own text
