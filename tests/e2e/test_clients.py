"""Unmodified clients, with nothing but what ``headgate run`` puts into their environment.

Each reads; each shows, when it is refused, who refused and why.
"""

import re
import shutil
import ssl
import subprocess
import sys

import httpx
import pytest

from tests.e2e.instance import Instance

# fetch() knows proxies from Node 24 on; before, this is what proxy agents do (RFC 9110, 9.3.6).
NODE = """
const http = require("node:http"), https = require("node:https"), tls = require("node:tls");
const proxy = new URL(process.env.HTTPS_PROXY), target = new URL(process.argv[1]), method = process.argv[2];
const credentials = Buffer.from(`${proxy.username}:${decodeURIComponent(proxy.password)}`).toString("base64");
const headers = {host: target.host, "proxy-authorization": `Basic ${credentials}`};
http.request({host: proxy.hostname, port: proxy.port, method: "CONNECT", path: target.host, headers})
    .on("connect", (answer, socket) => {
        const createConnection = () => tls.connect({socket, host: target.hostname});
        https.request(target, {method, createConnection}, (response) => {
            let text = "";
            response.on("data", (piece) => text += piece).on("end", () => {
                console.log(response.statusCode, response.statusMessage, text);
                socket.destroy();
            });
        }).end();
    }).end();
"""
NODE_FETCH = """
fetch(process.argv[1], {method: process.argv[2]}).then(async (response) =>
    console.log(response.status, response.statusText, await response.text()));
"""
HTTPX = """
import sys, httpx
response = httpx.request(sys.argv[2], sys.argv[1])
print(response.status_code, response.reason_phrase, response.text)
"""


def installed(*names: str) -> list[str]:
    return [name for name in names if shutil.which(name)]


def run(instance: Instance, words: list[str], **values: str) -> "subprocess.CompletedProcess[str]":
    """``headgate run -- …``, with a home of its own: this machine's settings for npm, pip and git do not count."""
    home = ["env", f"HOME={instance.folder}", "PIP_CONFIG_FILE=/dev/null", "PIP_NO_INDEX=0", "PIP_FIND_LINKS="]
    filled = [re.sub(r"\{(url|named|method)\}", lambda found: values[found[1]], word) for word in words]
    return instance.try_command("run", "--", *home, *filled)


def node_program() -> list[str]:
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    knows_proxies = int(version.lstrip("v").partition(".")[0]) >= 24
    return ["node", "-e", NODE_FETCH if knows_proxies else NODE]


COMMANDS = {
    "curl": lambda: ["curl", "-sS", "-i", "--http1.1", "{url}", "-X", "{method}"],
    "node": lambda: [*node_program(), "{url}", "{method}"],
    "httpx": lambda: [sys.executable, "-c", HTTPX, "{url}", "{method}"],
}


@pytest.fixture(params=[*installed("curl", "node"), "httpx"])
def call(request, instance):
    """What the client prints for a call."""
    words = COMMANDS[request.param]()

    def call(method: str, url: str) -> str:
        done = run(instance, words, url=url, method=method)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_allowed_denied_and_held(call, administrator, upstream, new_path) -> None:
    read, deleted, written = new_path(), new_path(), new_path()
    assert f'"path": "{read}"' in call("GET", upstream.url + read)
    denied = call("DELETE", upstream.url + deleted)
    assert "403 Denied by policy act_" in denied
    assert "cannot be undone" in denied
    held = call("POST", upstream.url + written)
    assert "403 Held for approval apr_" in held
    assert "APPROVAL_PENDING" in held
    administrator.approve(administrator.pending(written)["id"])
    assert f'"path": "{written}"' in call("POST", upstream.url + written)
    assert [len(upstream.of(path)) for path in (read, deleted, written)] == [1, 0, 1]


REFUSE = 'package e2e.registry\n\ndeny contains "not this registry" if startswith(input.http.path, "{path}")\n'
SHOWN = {
    "git": (["git", "ls-remote", "{url}"], "403"),
    "wget": (["wget", "-O", "-", "{url}"], "403: Denied by policy act_"),
    # A name, because npm's proxy agent checks the certificates of addresses against "localhost". Nothing resolves it.
    "npm": (["npm", "view", "x", "--fetch-retries=0", "--registry={named}/"], "403 Denied by policy act_"),
    "pip": (["pip", "download", "--no-deps", "{url}/x-1-py3-none-any.whl"], "403 Client Error: Denied by policy act_"),
}


@pytest.mark.parametrize("client", installed("git", "wget", "npm", "pip"))
def test_what_a_client_shows_of_a_refusal(instance, administrator, upstream, path, client) -> None:
    words, shown = SHOWN[client]
    with administrator.policy(REFUSE.format(path=path)):
        done = run(instance, words, url=upstream.url + path, named=f"https://registry.example{path}")
    assert done.returncode != 0
    assert shown in done.stdout + done.stderr
    assert [one.path for one in upstream.received if one.path.startswith(path)] == []


def test_without_the_gates_certificate_nothing_is_sent(instance, upstream, path) -> None:
    runtime = instance.runtime
    proxy = httpx.Proxy(runtime["proxy_url"], auth=("agent", runtime["agent_key"]))
    with (
        httpx.Client(proxy=proxy, verify=ssl.create_default_context(), trust_env=False) as client,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        client.get(upstream.url + path)
    assert upstream.of(path) == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("client", installed("curl"))
def test_over_http2(instance, upstream, path, client, method) -> None:
    """There is no reason phrase: the body says it."""
    done = run(instance, [client, "-sS", "-i", "--http2", "-X", method, "{url}"], url=upstream.url + path)
    assert done.returncode == 0, done.stderr
    tunnel, _, answer = done.stdout.partition("\n\n" if "\r" not in done.stdout else "\r\n\r\n")
    assert tunnel.startswith("HTTP/1.1 200")
    assert answer.startswith("HTTP/2 200" if method == "GET" else "HTTP/2 403")
    assert ("cannot be undone" in answer) is (method == "DELETE")
    assert len(upstream.of(path)) == (1 if method == "GET" else 0)
