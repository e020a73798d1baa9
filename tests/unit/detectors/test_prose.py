"""Sentences in disguise, and sentences where none belong; and texts in many languages that are neither."""

import codecs

import pytest

from headgate.detectors.prose import is_disguised, is_environment, is_out_of_place

_PLAIN = {
    "en": "The board meets on Friday to decide about the sale of the plant and nobody outside the team may know of it",
    "de": "Der Vorstand entscheidet am Freitag ueber den Verkauf des Werks und niemand ausserhalb darf davon wissen",
    "fr": "Le conseil se reunit vendredi pour decider de la vente de l usine et personne en dehors ne doit le savoir",
    "pl": "Zarzad spotyka sie w piatek aby zdecydowac o sprzedazy zakladu i nikt spoza zespolu nie moze o tym wiedziec",
    "cs": "Predstavenstvo se schazi v patek aby rozhodlo o prodeji zavodu a nikdo mimo tym o tom nesmi vedet",
    "fi": "Hallitus kokoontuu perjantaina paattamaan tehtaan myynnista eika kukaan ryhman ulkopuolella saa tietaa",
    "tr": "Yonetim kurulu cuma gunu fabrikanin satisina karar vermek icin toplaniyor ve ekip disinda kimse bilmemeli",
    "vi": "Hoi dong quan tri hop vao thu sau de quyet dinh viec ban nha may va khong ai ngoai nhom duoc biet",
    "sw": "Bodi inakutana siku ya Ijumaa kuamua kuhusu uuzaji wa kiwanda na hakuna mtu nje ya timu anayepaswa kujua",
    "zh": "dong shi hui zhou wu kai hui jue ding chu shou gong chang tuan dui yi wai de ren bu neng zhi dao",
    "sql": "select customer_id, sum(amount) from orders where created_at > now() group by customer_id order by 2 desc",
    "flags": "--no-verify --quiet -xvzf pkg.tgz --strip-components=1 -C /opt/xyz --exclude=.git --owner=root",
    "dna": "ATG CGA TTA GGC CAT TAC GGA TTC ACG GAT CCA TTG CAA GGT ACC TTA GGC CAT TAC",
    "stocks": "AAPL MSFT GOOG AMZN NVDA TSLA META BRKB JPM XOM JNJ WMT PG CVX HD KO PEP ORCL CRM AVGO",
    "short": "xbzz uvre",
}


@pytest.mark.parametrize("text", _PLAIN.values(), ids=_PLAIN)
def test_no_language_is_a_disguise(text: str) -> None:
    assert not is_disguised(text)


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_rotated_letters_are_one(language: str) -> None:
    text = _PLAIN[language]
    assert is_disguised(codecs.encode(text, "rot13"))
    turned = "".join(chr((ord(one) - 97 + 7) % 26 + 97) if one.isalpha() else one for one in text.lower())
    assert is_disguised(turned)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_text_backwards_is_one(language: str) -> None:
    assert is_disguised(_PLAIN[language][::-1])


_CHAT = (
    "user is negotiating to sell the company for 88 million, the floor price is 79, and the board does not know of it"
)
_MARKED = (
    "Strictly confidential: the offer for the plant is raised to 412 and signing is planned on Friday after the close"
)
_TALK = "USER: please check the setup of our gateway and the range. ASSISTANT: I will look at it on the box"


@pytest.mark.parametrize(
    ("text", "parameter", "is_picture"),
    [
        (_CHAT, "label", True),
        (_CHAT, None, True),
        (_CHAT, "utm_content", False),
        (_CHAT, "session_id", False),
        (_CHAT, "ctx", False),
        (_MARKED, "q", False),
        (_MARKED, "text", False),
        (_TALK, "u", False),
    ],
)
def test_sentences_are_out_of_place(text: str, parameter: str | None, is_picture: bool) -> None:
    assert is_out_of_place(text, parameter, is_picture=is_picture)


@pytest.mark.parametrize(
    ("text", "parameter", "is_picture"),
    [
        (_CHAT, "q", False),
        (_CHAT, "text", False),
        (_CHAT, "prompt", True),
        (_CHAT, None, False),
        (_TALK, "prompt", False),
        ("How we moved our build from two hours to nine minutes", "title", True),
        ("what does strictly confidential mean on an envelope", "q", False),
        ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma", "ctx", True),
    ],
)
def test_sentences_in_their_place_pass(text: str, parameter: str | None, is_picture: bool) -> None:
    assert not is_out_of_place(text, parameter, is_picture=is_picture)


def test_an_environment_is_known_by_its_names() -> None:
    assert is_environment(["HOME", "PATH", "PGHOST", "x"])
    assert is_environment(["AWS_REGION", "KUBERNETES_SERVICE_HOST", "SHLVL"])
    assert not is_environment(["home", "path", "user"])
    assert not is_environment(["SERVICE", "REQUEST", "VERSION", "LAYERS", "BBOX", "WIDTH", "HEIGHT", "USER"])
    assert not is_environment(["HOME", "HOME", "PATH"])
