"""Passwords below a name for them in a table, and tables without any."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess

_PASSWORD = "Copper#meadow3147"


@pytest.mark.parametrize(
    "table",
    [
        f"system,user,password\nDATEV,admin,{_PASSWORD}\n",
        f"Passwort;Konto\n{_PASSWORD};admin",
        f"| system | user | password |\n|---|---|---|\n| VPN | root | {_PASSWORD} |",
        f"host\tlogin\tpwd\r\ndb1\tsa\t{_PASSWORD}\r\n",
        f'"utilisateur","mot de passe","site"\n"ada","{_PASSWORD}","x"',
        f"usuario;contraseña\nada;{_PASSWORD}",
    ],
)
def test_a_password_below_its_name_is_found(table: str) -> None:
    [finding] = assess(EmbeddedModel.SECRETS, {"note": table}).inspection.findings

    assert (finding.kind, finding.place.path) == ("password", "$.note")
    assert finding.place.offset == table.index(_PASSWORD)


@pytest.mark.parametrize(
    "table",
    [
        "name,password,role\nada,********,admin\n",
        "field,password,required\nlength,12,yes\n",
        "user,password_hash\nada,x\n",
        "Fields: name, password, mail\nThe second one may be empty.",
        "user;password\n",
        "city,pass,height\nBern,open,2165\n",
    ],
)
def test_other_tables_pass(table: str) -> None:
    assert not assess(EmbeddedModel.SECRETS, {"note": table}).issues
