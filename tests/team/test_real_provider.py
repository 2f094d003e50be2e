"""Sign in through a real provider: oidc-provider from npm. Skipped where Node.js or npm is missing, and says so."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.oidc import OidcSettings
from tests.support.postgres import fresh_database
from tests.team.served import PASSWORD, Browser, Served, serving

pytestmark = pytest.mark.all

PACKAGE, SECRET = "oidc-provider@8", "the-secret-of-the-client-in-tests"
SCRIPT = Path(__file__).with_name("real_provider.mjs")
PATIENCE = 240


@dataclass
class RealProvider:
    served: Served
    issuer: str

    def sign_in(self, browser: Browser, account: str) -> httpx.Response:
        """Go through the provider's own pages, as a person does."""
        answer = browser.get("/oidc/start", params={"next": "/account"})
        for _ in range(5):
            action = re.search(r'action="([^"]*/interaction/[^"]*)"', answer.text)
            if action is None:
                return answer
            fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', answer.text))
            fields |= {"login": account, "password": "any"} if fields.get("prompt") == "login" else {}
            answer = browser.post(action[1], data=fields)
        return answer


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("Node.js with npm is not installed: the real identity provider is not tested")
    folder = Path(os.environ.get("BACKSCROLL_OIDC_PROVIDER") or tmp_path_factory.mktemp("npm"))
    if not (folder / "node_modules" / "oidc-provider").is_dir():
        words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
        try:
            done = subprocess.run(words, capture_output=True, timeout=PATIENCE, text=True, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("npm does not answer: the real identity provider is not tested")
        if done.returncode:
            pytest.skip(f"npm cannot install {PACKAGE}: the real identity provider is not tested")
    (folder / "package.json").touch()
    return folder


@pytest.fixture(scope="module")
def real(
    packages: Path, postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealProvider]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PROVIDER_FOLDER": str(packages), "PROVIDER_SECRET": SECRET}
    node = subprocess.Popen(
        ["node", str(SCRIPT), f"http://127.0.0.1:{port}/oidc/callback"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip
    try:
        assert node.stdout
        issuer = node.stdout.readline().strip()
        assert issuer.startswith("http://127.0.0.1:")
        settings = OidcSettings(issuer, "backscroll", SECRET, admits_everyone=True, groups="groups")
        with (
            fresh_database(postgres) as url,
            serving(url, tmp_path_factory.mktemp("server"), settings, port=port) as served,
        ):
            assert served.first_link
            served.browser().submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
            yield RealProvider(served, issuer)
    finally:
        node.kill()
        node.wait()
        if node.stdout:
            node.stdout.close()


def test_a_person_signs_in_and_is_in_the_teams_that_the_provider_names(real: RealProvider) -> None:
    admin = real.served.signed_in("admin")
    admin.submit("/teams", name="Core")
    admin.submit("/teams", name="Other")
    answer = real.sign_in(real.served.browser(), "grace")
    assert "You are Grace Hopper (grace)" in answer.text
    page = admin.get("/people").text
    row = page.partition("<strong>grace</strong>")[2].partition("</tr>")[0]
    assert "Core" in row
    assert "Other" not in row
    again = real.sign_in(real.served.browser(), "grace")
    assert "You are Grace Hopper (grace)" in again.text


def test_an_answer_with_another_state_lets_nobody_in(real: RealProvider) -> None:
    browser = real.served.browser()
    back = _redirected_back(real, browser, "alan")
    fields = dict(parse_qsl(urlsplit(back).query))
    forged = f"/oidc/callback?{urlencode({**fields, 'state': 'x' * 43})}"
    assert browser.get(forged).status_code == 400
    assert browser.get("/account").url.path == "/sign-in"
    other = real.served.browser()
    assert other.get(back).status_code == 400, "another browser than the one that began"
    assert browser.get(back).status_code == 200
    assert browser.get(back).status_code == 400, "it works once"


def test_the_provider_sends_nobody_to_another_address(real: RealProvider) -> None:
    browser = real.served.browser()
    browser.follow_redirects = False
    where = urlsplit(browser.get("/oidc/start").headers["location"])
    fields = dict(parse_qsl(where.query))
    assert fields["redirect_uri"] == f"{real.served.url}/oidc/callback"
    asked = {**fields, "redirect_uri": "https://evil.example/callback"}
    assert browser.get(f"{real.issuer}{where.path}?{urlencode(asked)}").status_code == 400
    hosts = {"host": "evil.example", "x-forwarded-host": "evil.example"}
    assert browser.get("/oidc/start", headers=hosts).status_code == 421
    again = browser.get("/oidc/start", headers={"x-forwarded-host": "evil.example"}).headers["location"]
    assert "evil.example" not in again


def test_a_code_without_its_verifier_is_worth_nothing(real: RealProvider) -> None:
    back = _redirected_back(real, real.served.browser(), "alan")
    code = dict(parse_qsl(urlsplit(back).query))["code"]
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": f"{real.served.url}/oidc/callback"}
    answer = httpx.post(f"{real.issuer}/token", data=sent, auth=("backscroll", SECRET), trust_env=False)
    assert answer.status_code == 400


def _redirected_back(real: RealProvider, browser: Browser, account: str) -> str:
    """The address that the provider sends the browser to, which has not been opened yet."""
    browser.follow_redirects = False
    answer = browser.get("/oidc/start", params={"next": "/account"})
    for _ in range(12):
        location = str(answer.headers.get("location", ""))
        if location.startswith(f"{real.served.url}/oidc/callback"):
            browser.follow_redirects = True
            return location
        if location:
            answer = browser.get(location if location.startswith("http") else f"{real.issuer}{location}")
            continue
        action = re.search(r'action="([^"]*/interaction/[^"]*)"', answer.text)
        assert action, answer.text[:500]
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', answer.text))
        fields |= {"login": account, "password": "any"} if fields.get("prompt") == "login" else {}
        answer = browser.post(action[1], data=fields)
    raise AssertionError("the provider never sends the browser back")
