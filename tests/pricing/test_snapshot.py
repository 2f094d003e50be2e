"""The snapshot, and the script that makes it."""

import json
import subprocess
import sys
import zipfile
from dataclasses import astuple
from pathlib import Path

import pytest

from backscroll.pricing.prices import Prices
from backscroll.pricing.snapshot import read_snapshot, snapshot

SCRIPT = Path(__file__).parents[2] / "scripts" / "make-prices"
OLD = "ModelInfo(id='claude-2', prices=ModelPrice(input_mtok=Decimal('8'), output_mtok=Decimal('24')))"
STEP = "TieredPrices(base=Decimal('{0}'), tiers=[Tier(start=1000, price=Decimal('{1}'))])"
NAMES = ("input_mtok", "output_mtok", "cache_write_mtok", "cache_write_1h_mtok", "cache_read_mtok")

GLM = "ModelInfo(id='GLM-9{0}', prices={1})"
PLAIN = "ModelPrice(input_mtok=Decimal('{0}'), cache_read_mtok=Decimal('0.2'), output_mtok=Decimal('3.2'))"
NIGHT = "TimeOfDateConstraint(start_time=datetime.time(0, 30, tzinfo=datetime.UTC))"
OTHERS = (
    GLM.format("", PLAIN.format("1")),
    GLM.format("-Night", f"[ConditionalPrice(constraint={NIGHT}, prices={PLAIN.format('1')})]"),
    GLM.format("-Fine", PLAIN.format("0.0028")),
)


def flat(*rates: str) -> str:
    given = ", ".join(f"{name}=Decimal('{rate}')" for name, rate in zip(NAMES, rates, strict=True))
    return f"ModelPrice({given}, web_searches_kcount=Decimal('10'))"


def stepped(*rates: tuple[str, str]) -> str:
    return f"ModelPrice({', '.join(f'{name}={STEP.format(*rate)}' for name, rate in zip(NAMES, rates, strict=True))})"


FIRST = stepped(("1", "2"), ("5", "6"), ("1.25", "2.5"), ("2", "4"), ("0.1", "0.2"))
DATED = f"""ModelInfo(id='claude-x-9-latest', prices=[
    ConditionalPrice(prices={FIRST}),
    ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2026, 3, 13)),
                     prices={flat("1", "5", "1.25", "2", "0.1")})])"""
BATCH = "price_variants=[PriceVariant(when={{'processing': 'batch'}}, prices={0})]"
ACTIVE = (
    f"ModelInfo(id='claude-x-9-5', prices={flat('1', '5', '1.25', '2', '0.1')},"
    f" {BATCH.format(flat('0.5', '2.5', '0.625', '1', '0.05'))})"
)


def package(root: Path, *models: str) -> Path:
    (root / "genai_prices").mkdir(parents=True)
    source = (
        f"providers: list = [Provider(id='other'), Provider(id='anthropic', models=[{', '.join(models)}]), "
        f"Provider(id='zai', models=[{', '.join(OTHERS)}])]"
    )
    (root / "genai_prices" / "data.py").write_text(source)
    (root / "genai_prices-1.2.dist-info").mkdir()
    (root / "genai_prices-1.2.dist-info" / "METADATA").write_text("Name: genai-prices\nVersion: 1.2\n")
    return root


def make(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(source), "--to", str(to), "--date", "2026-11-15"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_prices_of_a_package_are_taken_down(tmp_path: Path) -> None:
    folder = package(tmp_path / "package", OLD, DATED, ACTIVE)
    wheel = tmp_path / "genai_prices.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, file.relative_to(folder))
        archive.write(folder / "genai_prices-1.2.dist-info" / "METADATA", "genai_prices-1.2.dist-info/METADATA")
    done = make(folder, tmp_path / "a.json"), make(wheel, tmp_path / "b.json")
    assert [item.returncode for item in done] == [0, 0], done
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    found = read_snapshot((tmp_path / "a.json").read_bytes())
    assert (found.version, str(found.made)) == ("1.2", "2026-11-15")
    told = [(price.model, str(price.since), price.long_from, price.is_retired) for price in found.prices]
    assert told == [
        ("claude-x-9", "None", 1000, True),
        ("claude-x-9", "2026-03-13", None, True),
        ("claude-x-9-5", "None", None, False),
        ("glm-9", "None", None, False),
    ]
    glm = found.prices[-1].rates
    assert astuple(glm) == (1000, 3200, 1000, 1000, 200)
    assert "left out, since our table cannot hold their prices: GLM-9-Night, GLM-9-Fine" in done[0].stdout
    long = found.prices[0].long_rates
    assert long is not None
    assert (long.input, long.cache_write_5m, long.cache_write_1h, long.cache_read) == (2000, 2500, 4000, 200)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ACTIVE.replace("'0.625'", "'0.626'"), "a batch that is not half"),
        (ACTIVE.replace("'batch'", "'flex'"), "a variant that is no batch"),
        (ACTIVE.replace("web_searches_kcount=Decimal('10')", "web_searches_kcount=Decimal('9')"), "price of a search"),
        (DATED.replace("start=1000, price=Decimal('2')", "start=2000, price=Decimal('2')"), "more than one length"),
        (DATED.replace("StartDate", "TimeOfDate"), "at certain times only"),
    ],
)
def test_a_package_that_says_what_we_cannot_hold_is_refused(tmp_path: Path, model: str, reason: str) -> None:
    done = make(package(tmp_path / "package", model), tmp_path / "a.json")
    assert done.returncode == 1
    assert reason in done.stderr
    assert not (tmp_path / "a.json").exists()


def test_the_snapshot_we_ship_is_sorted_and_names_its_package() -> None:
    file = Path(__file__).parents[2] / "src" / "backscroll" / "pricing" / "snapshot.json"
    written = json.loads(file.read_bytes())
    assert list(written["models"]) == sorted(written["models"])
    assert written["package"] == snapshot().package == "genai-prices"
    assert len(snapshot().prices) > 20
    assert Prices().price_of("glm-5") is not None
    assert file.stat().st_size < 15_000
