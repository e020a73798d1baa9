"""Which scripts a font has, as far as a reader wants to know: those whose samples it has altogether."""

from collections.abc import Set
from typing import Final

_SAMPLES: Final = (
    ("Chinese characters", "一人中国語"),
    ("kana", "あのアン"),
    ("Hangul", "가나한글"),
    ("Arabic", "ابجدهي"),
    ("Hebrew", "אבגדה"),
    ("Devanagari", "अकखगि"),
    ("Bengali", "অকখগি"),
    ("Gurmukhi", "ਅਕਖਗਿ"),
    ("Gujarati", "અકખગિ"),
    ("Tamil", "அகஙசி"),
    ("Telugu", "అకఖగి"),
    ("Kannada", "ಅಕಖಗಿ"),
    ("Malayalam", "അകഖഗി"),
    ("Sinhala", "අකඛගි"),
    ("Thai", "กขคงา"),
    ("Lao", "ກຂຄງາ"),
    ("Khmer", "កខគឃា"),
    ("Burmese", "ကခဂဃာ"),
    ("Tibetan", "ཀཁགངི"),
    ("Georgian", "აბგდე"),
    ("Armenian", "ԱԲաբգ"),
    ("Ethiopic", "ሀለሐመሠ"),
    ("emoji", "😀🤖👍"),
)


def scripts_of(characters: Set[int]) -> tuple[str, ...]:
    return tuple(name for name, sample in _SAMPLES if all(ord(one) in characters for one in sample))
