"""Rules of which the engine would leave one out without a word: refused."""

import pytest
from regorus import Policy, RegoError


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        # Asked for p.b, the engine would not ask p[q].
        ('p[q] contains s if { some [q, s] in [["b", "c"]] }\np.b contains "foo"', 2),
        ('p.b contains "foo"\np[q] contains s if { some [q, s] in [["b", "c"]] }', 3),
        ('p[q].r contains s if { some [q, s] in [["b", "c"]] }\np.b.r contains "foo"', 2),
        ('p[q].r := s if { some q, s in {"b": 2} }\np.b.z := 3', 2),
        ("p[q][r] := true if { some [q, r] in [[1, 2]] }\np.b[r] := true if { some r in [1] }", 2),
        ("p.b[r] := true if { some r in [1] }\np[q][r] := true if { some [q, r] in [[1, 2]] }", 2),
        ('p[q] := s if { some q, s in {"b": 2} }\ndefault p["b"] := 3', 2),
    ],
)
def test_overlapping_heads_are_refused(rules: str, line: int) -> None:
    with pytest.raises(RegoError) as caught:
        Policy(f"package t\n{rules}")
    assert "overlaps" in caught.value.message
    assert caught.value.line == line
    assert caught.value.column == 1


@pytest.mark.parametrize(
    "rules",
    [
        'p[q] contains s if { some [q, s] in [["b", "c"]] }\np[q] contains "foo" if { q := "b" }\nallow if "c" in p.b',
        "p.a contains 1\np.b contains 2\nallow if p.b[2]",
        'p[q] := s if { some q, s in {"b": 2} }\nother.b := 3\nallow if other.b == 3',
        'p[1] := "a"\np[x] := "b" if x := 2\nallow if { p[1] == "a"; p[2] == "b" }',
    ],
)
def test_others_are_not(rules: str) -> None:
    assert Policy(f"package t\n{rules}").decide(b"{}") == b'{"allow":true}'
