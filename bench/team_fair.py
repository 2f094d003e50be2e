"""How much slower one person's searches are while another person asks as much as they can.

    scripts/bench team_fair [--sessions 20] [--rounds 3] [--burners 8] [--agents 8]

Two people of a server that runs with its defaults have histories of the same size. One searches as a person does, five
times a second at most, in turns with and without the other, who sends searches for common words, statistics and spend
from many threads at once, and, with keys for agents, calls of tools and SQL from as many more. The ratio of the medians
is what counts: both are measured in one run.
"""

import argparse
import multiprocessing
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event as EventType
from random import Random
from urllib.parse import quote

import httpx
from tests.attack.started_server import PASSWORD, StartedServer, chained, session, started_server

MESSAGES = 100
COMMON = [f"common{n}" for n in range(200)]
QUERIES = 25
THINKING = 0.2
"""Seconds between the searches of a person, who reads and types."""
BURNING = (
    "/api/v1/search?q=common1 common2 common3", "/api/v1/search?q=common4 or common5", "/stats", "/spend",
    "/api/v1/stats/usage?by=model", "/api/v1/search?q=common6 common7&sort=newest",
)  # fmt: skip
CALLS = (
    ("recall", {"question": "common1 is common2 and common3 " * 200, "max_tokens": 50_000}),
    ("query", {"sql": "select count(*) from generate_series(1, 10000000000)"}),
    ("search", {"query": "common1 common2 common3 common4", "limit": 50, "max_tokens": 50_000}),
    ("stats", {"report": "usage"}),
)
"""What agents call, each thread one of these."""


def history(sessions: int, seed: int) -> Iterator[tuple[str, list[bytes]]]:
    """Sessions of common words, and a rare one in each message."""
    random = Random(seed)
    for number in range(sessions):
        name, path = session(number)
        lines = []
        for message in range(MESSAGES):
            words = " ".join(random.choices(COMMON, k=60))
            lines.append(
                f'{{"type":"user","uuid":"u{number}x{message}","parentUuid":null,"sessionId":"{name}",'
                f'"timestamp":"2026-01-05T10:00:00Z","cwd":"/home/dev/shop",'
                f'"message":{{"role":"user","content":"{words} rare{number}x{message}"}}}}\n'.encode()
            )
        yield path, [b"".join(lines)]


def send(server: StartedServer, browser: httpx.Client, sessions: int, seed: int) -> None:
    """Have a history taken and indexed."""
    credential, device = server.connected(browser)
    headers = {"authorization": f"Bearer {credential}"}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=120) as client:
        for name, data in chained(device, history(sessions, seed)):
            while client.put(f"/sync/v1/objects/{quote(name)}", content=data).status_code != httpx.codes.CREATED:
                time.sleep(0.5)
    while len(browser.get("/api/v1/chats?limit=1000").json().get("chats", [])) < sessions:
        time.sleep(0.5)
    while browser.get("/api/v1/search", params={"q": "common1"}).json()["pending"]:
        time.sleep(0.5)


def member(server: StartedServer, owner: httpx.Client) -> httpx.Client:
    """A member who has used their link."""
    page = server.submit(owner, "/people", handle="ben", name="Ben", role="member").text
    link = re.search(r"/welcome\?link=([\w-]+)", page)
    browser = server.browser()
    server.submit(browser, "/welcome", link=link[1] if link else "", password=PASSWORD)
    return browser


def searches(browser: httpx.Client, random: Random, sessions: int) -> list[float]:
    """Seconds of some searches."""
    found = []
    for _ in range(QUERIES):
        query = f"rare{random.randrange(sessions)}x{random.randrange(MESSAGES)}"
        began = time.perf_counter()
        answer = browser.get("/api/v1/search", params={"q": query})
        found.append(time.perf_counter() - began)
        assert answer.json()["total"] == 1, answer.text[:300]
        time.sleep(THINKING)
    return found


def burn(
    url: str,
    cookies: dict[str, str],
    keys: list[str],
    threads: tuple[int, int],
    stop: EventType,
    total: "Synchronized[int]",
) -> None:
    """Ask from so many threads until told to stop: in a process of its own, so that it does not slow down the other."""

    def ask() -> None:
        number = 0
        with httpx.Client(base_url=url, cookies=cookies, trust_env=False, timeout=120) as browser:
            while not stop.is_set():
                browser.get(BURNING[number % len(BURNING)])
                number += 1
        count(number)

    def call(thread: int) -> None:
        number, (tool, arguments) = 0, CALLS[thread % len(CALLS)]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {keys[thread % len(keys)]}",
        }
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=120) as agent:
            while not stop.is_set():
                is_answered = agent.post("/mcp", json=body).status_code == httpx.codes.OK
                number += is_answered
                if not is_answered:
                    time.sleep(0.2)
        count(number)

    def count(answers: int) -> None:
        with total.get_lock():
            total.value += answers

    asking = [threading.Thread(target=ask) for _ in range(threads[0])]
    asking += [threading.Thread(target=call, args=(number,)) for number in range(threads[1])]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()


def agent_keys(server: StartedServer, browser: httpx.Client) -> list[str]:
    """Several keys of one person: each of them has a rate."""
    found = []
    for number in range(4):
        page = server.submit(browser, "/account/keys", name=f"agent {number}", scope="mcp").text
        found += re.findall(r"bsk_[\w-]{43}", page)[:1]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--burners", type=int, default=8)
    parser.add_argument("--agents", type=int, default=8)
    options = parser.parse_args(arguments)
    random, quiet, busy, asked = Random(1), [], [], []
    context = multiprocessing.get_context("spawn")
    with started_server() as server, closing(server.owner()) as owner, closing(member(server, owner)) as ben:
        for number, browser in enumerate((owner, ben)):
            send(server, browser, options.sessions, number)
        keys = agent_keys(server, owner)
        searches(ben, random, options.sessions)
        for _ in range(options.rounds):
            quiet += searches(ben, random, options.sessions)
            stop, total = context.Event(), context.Value("i", 0)
            threads = options.burners, options.agents
            words = (server.url, dict(owner.cookies), keys, threads, stop, total)
            burning = context.Process(target=burn, args=words)
            burning.start()
            searches(ben, random, options.sessions)  # until it burns
            busy += searches(ben, random, options.sessions)
            stop.set()
            burning.join()
            asked.append(total.value)
    for name, found in (("alone", quiet), ("while another burns", busy)):
        spread = statistics.quantiles(found, n=20)
        print(f"{name:20} median {1000 * statistics.median(found):6.0f} ms   p95 {1000 * spread[18]:6.0f} ms")
    print(
        f"ratio of medians {statistics.median(busy) / statistics.median(quiet):.2f}; the other got {sum(asked)} answers"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
