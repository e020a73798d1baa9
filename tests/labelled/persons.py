"""Personal data that nobody has: valid by their checksums, made from a seed. One function a kind."""

import random
from collections.abc import Callable

import phonenumbers
from stdnum import iban, luhn, verhoeff
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.it import codicefiscale
from stdnum.mx import curp

_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIRST = [
    "maria",
    "jonas",
    "lucia",
    "pierre",
    "giulia",
    "tiago",
    "emma",
    "noah",
    "ines",
    "mateo",
    "hannah",
    "olivia",
    "sofia",
    "paul",
    "clara",
    "liam",
]
_LAST = [
    "schmidt",
    "garcia",
    "rossi",
    "dubois",
    "silva",
    "walker",
    "novak",
    "jensen",
    "keller",
    "moreau",
    "ferrari",
    "costa",
    "murphy",
    "weber",
]
_DOMAINS = (
    "example.com",
    "example.org",
    "mail.example.net",
    "posteo.example.de",
    "acme-gmbh.de",
    "correo.es",
    "uni.it",
)


def digits(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(_DIGITS, k=length))


def _until(valid: Callable[[str], bool], make: Callable[[], str]) -> str:
    while not valid(one := make()):
        pass
    return one


def _check(module: str) -> Callable[[str], bool]:
    import importlib  # noqa: PLC0415 - thirty modules, of which a record needs one

    return importlib.import_module(f"stdnum.{module}").is_valid  # type: ignore[no-any-return]


def email(rng: random.Random) -> str:
    joint = rng.choice((".", "_", "-", ""))
    tag = rng.choice(("", "", "", "+shop", "84"))
    return f"{rng.choice(_FIRST)}{joint}{rng.choice(_LAST)}{tag}@{rng.choice(_DOMAINS)}"


def name(rng: random.Random) -> str:
    return f"{rng.choice(_FIRST).title()} {rng.choice(_LAST).title()}"


def phone(rng: random.Random, region: str, style: str = "international") -> str:
    """``style``: international, e164, national, bare (national without separators), dotted."""
    kind = rng.choice((phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE))
    example = phonenumbers.example_number_for_type(region, kind) or phonenumbers.example_number(region)
    assert example is not None
    number = phonenumbers.PhoneNumber()
    while True:
        number.merge_from(example)
        tail = digits(rng, 4)
        number.national_number = int(str(example.national_number)[:-4] + tail)
        if phonenumbers.is_valid_number(number):
            break
    shapes = phonenumbers.PhoneNumberFormat
    if style == "e164":
        return phonenumbers.format_number(number, shapes.E164)
    if style == "international":
        return phonenumbers.format_number(number, shapes.INTERNATIONAL)
    national = phonenumbers.format_number(number, shapes.NATIONAL)
    if style == "bare":
        return "".join(one for one in national if one.isdigit())
    if style == "dotted":
        return national.replace("(", "").replace(")", "").replace(" ", ".").replace("-", ".")
    return national


_CARDS = {
    "visa": (("4",), 16), "mastercard": (("51", "53", "55", "2221", "2545"), 16), "amex": (("34", "37"), 15),
    "discover": (("6011", "65"), 16), "diners": (("36", "38"), 14), "jcb": (("3528", "3570"), 16),
    "unionpay": (("62",), 16),
}  # fmt: skip


def card(rng: random.Random, scheme: str = "visa", style: str = "plain") -> str:
    """``style``: plain, spaces, dashes."""
    prefixes, length = _CARDS[scheme]
    body = rng.choice(prefixes)
    body += digits(rng, length - 1 - len(body))
    number = body + luhn.calc_check_digit(body)
    return number if style == "plain" else _grouped(number, " " if style == "spaces" else "-")


def bad_card(rng: random.Random, style: str = "plain") -> str:
    number = card(rng)
    broken = number[:-1] + str((int(number[-1]) + 3) % 10)
    return broken if style == "plain" else _grouped(broken, " ")


def _grouped(number: str, separator: str) -> str:
    if len(number) == 15:
        return separator.join((number[:4], number[4:10], number[10:]))
    if len(number) == 14:
        return separator.join((number[:4], number[4:10], number[10:]))
    return separator.join(number[at : at + 4] for at in range(0, len(number), 4))


_BBAN = {"DE": "18n", "FR": "10n11c2n", "ES": "20n", "IT": "1a10n12c", "PT": "21n", "GB": "4a14n", "NL": "4a10n",
         "BE": "12n", "AT": "16n", "CH": "5n12c", "PL": "24n", "IE": "4a14n"}  # fmt: skip


def bank_account(rng: random.Random, country: str = "DE", style: str = "spaces") -> str:
    """An IBAN (ISO 13616); ``style``: spaces, plain, lower."""
    number = _until(iban.is_valid, lambda: _iban(rng, country))
    if style == "plain":
        return number
    spaced = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    return spaced.lower() if style == "lower" else spaced


def bad_bank_account(rng: random.Random, country: str = "DE") -> str:
    number = bank_account(rng, country, "plain")
    return number[:-1] + str((int(number[-1]) + 1) % 10)


def _iban(rng: random.Random, country: str) -> str:
    bban, structure = "", _BBAN[country]
    while structure:
        length = ""
        while structure[0].isdigit():
            length, structure = length + structure[0], structure[1:]
        kind, structure = structure[0], structure[1:]
        alphabet = {"n": _DIGITS, "a": _LETTERS, "c": _DIGITS}[kind]
        bban += "".join(rng.choices(alphabet, k=int(length)))
    return f"{country}{iban.calc_check_digits(f'{country}00{bban}')}{bban}"


def _date6(rng: random.Random) -> tuple[str, str, str]:
    return f"{rng.randint(50, 99)}", f"{rng.randint(1, 12):02}", f"{rng.randint(1, 28):02}"


def us_ssn(rng: random.Random, style: str = "dashes") -> str:
    number = _until(_check("us.ssn"), lambda: f"{rng.randint(1, 665):03}-{rng.randint(1, 99):02}-{digits(rng, 4)}")
    return number if style == "dashes" else number.replace("-", " " if style == "spaces" else "")


def uk_nino(rng: random.Random, style: str = "spaces") -> str:
    prefix = rng.choice(("AB", "CE", "JG", "PX", "WM", "YZ", "SL"))
    parts = (prefix, digits(rng, 2), digits(rng, 2), digits(rng, 2), rng.choice("ABCD"))
    return (" " if style == "spaces" else "").join(parts)


def uk_nhs(rng: random.Random) -> str:
    number = _until(_check("gb.nhs"), lambda: "4" + digits(rng, 9))
    return f"{number[:3]} {number[3:6]} {number[6:]}"


def de_tax_id(rng: random.Random, style: str = "spaces") -> str:
    number = _until(_check("de.idnr"), lambda: str(rng.randint(1, 9)) + digits(rng, 10))
    return f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:]}" if style == "spaces" else number


def fr_nir(rng: random.Random, style: str = "spaces") -> str:
    year, month, _ = _date6(rng)
    body = f"{rng.choice('12')}{year}{month}{rng.randint(1, 95):02}{digits(rng, 6)}"
    full = body + nir.calc_check_digits(body)
    if style == "plain":
        return full
    return " ".join((full[0], full[1:3], full[3:5], full[5:7], full[7:10], full[10:13], full[13:]))


def es_dni(rng: random.Random, style: str = "plain") -> str:
    body = digits(rng, 8)
    return body + ("-" if style == "dash" else "") + dni.calc_check_digit(body)


def es_nie(rng: random.Random) -> str:
    body = rng.choice("XYZ") + digits(rng, 7)
    return body + nie.calc_check_digit(body)


def it_codice_fiscale(rng: random.Random) -> str:
    year, _, day = _date6(rng)
    letters = "".join(rng.choices("BCDFGLMNPRSTV", k=6))
    body = f"{letters}{year}{rng.choice('ABCDEHLMPRST')}{day}{rng.choice('ABCDEFGHIL')}{rng.randint(100, 899)}"
    return body + codicefiscale.calc_check_digit(body)


def mx_curp(rng: random.Random) -> str:
    year, month, day = _date6(rng)
    letters = rng.choice("GMRPL") + "A" + "".join(rng.choices("GLMPRT", k=2))
    consonants = "".join(rng.choices("BCDFG", k=3))
    body = f"{letters}{year}{month}{day}{rng.choice('HM')}{rng.choice(('DF', 'JC', 'NL'))}{consonants}0"
    return body + curp.calc_check_digit(body)


def in_aadhaar(rng: random.Random) -> str:
    body = rng.choice("23456789") + digits(rng, 10)
    number = body + verhoeff.calc_check_digit(body)
    return _grouped(number, " ")


def _by_check(module: str, length: int, first: str = "123456789") -> Callable[..., str]:
    def make(rng: random.Random) -> str:
        return _until(_check(module), lambda: rng.choice(first) + digits(rng, length - 1))

    return make


def br_cpf(rng: random.Random, style: str = "dots") -> str:
    number = _until(_check("br.cpf"), lambda: digits(rng, 11))
    return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}" if style == "dots" else number


def pl_pesel(rng: random.Random) -> str:
    return _until(_check("pl.pesel"), lambda: "".join(_date6(rng)) + digits(rng, 5))


def se_personnummer(rng: random.Random) -> str:
    return _until(_check("se.personnummer"), lambda: "".join(_date6(rng)) + "-" + digits(rng, 4))


def dk_cpr(rng: random.Random) -> str:
    return _until(_check("dk.cpr"), lambda: "".join(reversed(_date6(rng))) + "-" + "1" + digits(rng, 3))


def fi_hetu(rng: random.Random) -> str:
    letters = "0123456789ABCDEFHJKLMNPRSTUVWXY"
    return _until(
        _check("fi.hetu"),
        lambda: "".join(reversed(_date6(rng))) + "-" + f"{rng.randint(2, 899):03}" + rng.choice(letters),
    )


def ch_ahv(rng: random.Random) -> str:
    number = _until(_check("ch.ssn"), lambda: "756" + digits(rng, 10))
    return f"{number[:3]}.{number[3:7]}.{number[7:11]}.{number[11:]}"


def be_nn(rng: random.Random) -> str:
    number = _until(_check("be.nn"), lambda: "".join(_date6(rng)) + digits(rng, 5))
    return f"{number[:2]}.{number[2:4]}.{number[4:6]}-{number[6:9]}.{number[9:]}"


def ca_sin(rng: random.Random, style: str = "spaces") -> str:
    number = _until(_check("ca.sin"), lambda: rng.choice("1234567") + digits(rng, 8))
    separator = {"spaces": " ", "dashes": "-", "plain": ""}[style]
    return separator.join((number[:3], number[3:6], number[6:]))


def in_pan(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=3)) + "P" + rng.choice(_LETTERS) + digits(rng, 4) + rng.choice(_LETTERS)


def passport(rng: random.Random, country: str = "GB") -> str:
    if country == "DE":
        return rng.choice("CFGHJK") + "".join(rng.choices("0123456789CFGHJKLMNPRTVWXYZ", k=8))
    if country == "FR":
        return digits(rng, 2) + "".join(rng.choices("ABCDEF", k=2)) + digits(rng, 5)
    if country == "IT":
        return "YA" + digits(rng, 7)
    return digits(rng, 9)


_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}


def date(rng: random.Random, style: str = "iso") -> str:
    """``style``: iso, dots, slashes, us, or a language (words)."""
    year, month, day = rng.randint(1945, 2004), rng.randint(1, 12), rng.randint(1, 28)
    if style == "iso":
        return f"{year}-{month:02}-{day:02}"
    if style == "dots":
        return f"{day:02}.{month:02}.{year}"
    if style == "slashes":
        return f"{day:02}/{month:02}/{year}"
    if style == "us":
        return f"{month}/{day}/{year}"
    word = _MONTHS[style].split()[month - 1]
    if style == "en":
        return rng.choice((f"{word} {day}, {year}", f"{day} {word} {year}"))
    if style == "de":
        return f"{day}. {word} {year}"
    return f"{day} {word} {year}" if style in ("fr", "it") else f"{day} de {word} de {year}"


def ip4(rng: random.Random) -> str:
    return (
        f"{rng.choice((81, 93, 145, 188, 203, 62))}.{rng.randint(1, 254)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"
    )


def ip6(rng: random.Random) -> str:
    groups = ["2a02", f"{rng.randint(1, 65535):x}", *(f"{rng.randint(0, 65535):x}" for _ in range(2))]
    return ":".join(groups) + "::" + f"{rng.randint(1, 65535):x}"


def mac(rng: random.Random) -> str:
    separator = rng.choice(":-")
    return separator.join(f"{rng.randint(0, 255):02x}" for _ in range(6))


LABELLED: dict[str, Callable[..., str]] = {
    "email": email, "phone": phone, "payment_card": card, "iban": bank_account, "date_of_birth": date,
    "ip_address": ip4, "ip_address6": ip6, "mac_address": mac, "passport": passport,
    "us_ssn": us_ssn, "uk_nino": uk_nino, "uk_nhs": uk_nhs, "de_tax_id": de_tax_id, "fr_nir": fr_nir,
    "es_dni": es_dni, "es_nie": es_nie, "it_codice_fiscale": it_codice_fiscale, "mx_curp": mx_curp,
    "in_aadhaar": in_aadhaar, "in_pan": in_pan, "pt_nif": _by_check("pt.nif", 9, "12"), "br_cpf": br_cpf,
    "nl_bsn": _by_check("nl.bsn", 9, "12"), "pl_pesel": pl_pesel, "se_personnummer": se_personnummer,
    "dk_cpr": dk_cpr, "fi_hetu": fi_hetu, "no_fodselsnummer": _by_check("no.fodselsnummer", 11, "012"),
    "ch_ahv": ch_ahv, "be_nn": be_nn, "ca_sin": ca_sin, "au_tfn": _by_check("au.tfn", 9),
}  # fmt: skip
"""A placeholder ``{{kind:argument}}`` of these is a label too; ``ip_address6`` is labelled ip_address."""

PLAIN: dict[str, Callable[..., str]] = {"name": name, "date": date, "bad_card": bad_card, "bad_iban": bad_bank_account}
