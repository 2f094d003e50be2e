"""Word lists and templates that `texts` builds its pools from.

Data only, written for this project. Order matters in COMMON: it is the rank order of the Zipf distribution.
In a template `%(a)s` is a snake_case name, `%(j)s` its camelCase twin, `%(A)s` a PascalCase name, `%(b)s` another
snake_case name, `%(n)s`/`%(m)s` numbers, `%(h)s` a short hash, `%(p)s` a path, `%(w)s` a few words.
"""

from typing import Final

COMMON: Final = """
the to a of and in is for it that this with on we not be as from are if by so an or when now which was can has
all but will only one each at after before then there into test file code function error line should value call
read write run use make check change fix add also still because return no same new first two more than longer
does done next last here where what how why who their its them they you your our he she user data type name path
key list string number result record row table index query server client request response state order page view
item field event message queue worker job task build branch commit merge release version config setting option
default module package class method object parser reader writer cache memory disk time date zone timeout retry
limit size length count total sum average start end open close create delete update insert select filter sort
group join map reduce split parse format print log warn raise catch handle throw pass fail skip ignore keep drop
move copy rename replace remove restore load save store fetch send receive publish listen connect bind accept
reject allow deny block unblock lock unlock wait sleep wake stop resume cancel finish complete begin continue
break loop step stage phase batch chunk stream buffer flush sync async thread process signal hook plugin script
command shell terminal window screen button form input output label icon color theme layout style margin border
shadow font width height left right top bottom center middle inside outside above below between across through
during until while since however therefore although instead already almost always never often sometimes usually
maybe perhaps probably clearly simply exactly roughly quickly slowly safely small large short long old young
early late fast slow empty full broken missing wrong correct valid invalid strict loose simple complex public
private local remote global internal external current previous following upstream downstream nested flat sparse
dense stable flaky idle busy stale fresh harbour lantern meadow orchard kettle granite velvet copper marble
thunder glacier canyon willow falcon otter badger ledger invoice voucher tariff freight cargo parcel courier
depot warehouse pallet crane ferry tram compass sensor gauge valve pump turbine boiler meter probe relay socket
cable fuse panel antenna beacon buoy tide patient clinic dosage ward chart triage nurse recipe flour yeast oven
basket menu kitchen waiter booking guest
"""

TECHNICAL: Final = """
idempotent mutex semaphore backpressure checksum tokenizer debounce hydration memoize serializer deserializer
middleware throttling sharding replication failover quorum leader follower heartbeat watermark tombstone
compaction checkpoint snapshot rollback migration schema constraint cascade trigger cursor pagination offset
prefetch preload bundler transpiler linter formatter typechecker monorepo workspace lockfile registry artifact
pipeline workflow runner container image volume namespace ingress egress gateway proxy loadbalancer certificate
cipher handshake nonce entropy salt digest signature keyring vault rotation revocation session cookie bearer
scope tenant quota allowlist telemetry tracing span baggage exporter histogram percentile gauge counter
cardinality sampling dashboard alerting latency throughput jitter starvation deadlock livelock race condition
regression fixture parametrize mock stub fuzz coverage mutation property invariant assertion contract
precondition refactor decouple inline hoist curry closure generator coroutine iterator decorator descriptor
metaclass dataclass protocol generic variance covariant nullable optional union enum bitmask endian varint utf8
surrogate codepoint grapheme collation normalise stemming ngram trigram
"""

VERBS: Final = """
read write parse load save fetch send build check merge split apply resolve collect render validate encode
decode flush open close find list count update remove copy move sort filter group sync track measure
"""
NOUNS: Final = """
record page line index cursor token batch chunk buffer queue ticket order invoice tariff route tide sensor
reading meter station parcel depot booking guest menu recipe chart dosage patient ledger entry account report
window session branch commit patch header footer column schema policy quota limit budget cache snapshot channel
message event worker job timer lease key scope tenant region zone shard replica tile layer shape path glyph
"""
SYLLABLES: Final = """
ba ke li mo ru sa te vi zo da fe gi ho ju ka le mi no pa qui ro su ta ve wa xe yo za bri clo dra
"""

# Language: what stands between words, what ends a sentence, the words.
OTHER_LANGUAGES: Final = {
    "zh": (
        "",
        "。",
        """
请 检查 函数 错误 文件 数据库 索引 测试 修改 代码 为什么 查询 很慢 我们 需要 添加 一个 新的 接口 返回
结果 缓存 失败 日志 显示 配置 用户 登录 页面 之后 之前 重新 构建 部署 服务器 超时 解析 时间 格式 不
对 应该 使用
""",
    ),
    "ja": (
        "",
        "。",
        """
この 関数 を 修正 して ください エラー が 発生 しました テスト は 通り ません ファイル の 読み込み 処理
遅い データベース 接続 設定 変更 する 必要 あります ログ 確認 新しい 画面 追加 キャッシュ 検索 結果 順番
おかしい
""",
    ),
    "ko": (
        " ",
        ".",
        """
이 함수를 수정해 주세요 오류가 발생했습니다 테스트가 실패합니다 파일을 읽는 속도가 느려요
데이터베이스 연결 설정을 변경해야 합니다 로그를 확인하고 새로운 화면을 추가 캐시 검색
결과 순서가 이상합니다 배포 서버 시간 초과
""",
    ),
    "de": (
        " ",
        ".",
        """
bitte die Prüfung der Funktion ändern weil Fehler beim Öffnen einer Datei auftritt und wir den
Zähler nicht zurücksetzen können dann läuft Abfrage viel zu langsam über alle Schlüssel größer als
nötig Übersicht Größe Straße müssen Rückgabewert Zeitüberschreitung Datenbankverbindung heißt
gelöscht
""",
    ),
    "ru": (
        " ",
        ".",
        """
пожалуйста проверь функцию которая читает файл и возвращает ошибку потому что тест не проходит после
изменения запрос к базе данных слишком медленный нужно добавить новый индекс очередь сообщений
сервер время ответа
""",
    ),
    "ar": (
        " ",
        ".",
        """
من فضلك تحقق الدالة التي تقرأ الملف وتعيد خطأ لأن الاختبار فشل بعد التغيير الاستعلام بطيء جدا نحتاج
إلى إضافة فهرس جديد قاعدة البيانات الخادم وقت الاستجابة السجل
""",
    ),
}
EMOJI: Final = ["✅", "🎉", "🚀", "⚠️", "🔧", "🧪", "📦", "❌", "👍", "🐛"]

SENTENCES: Final = """
Now let me look at how `%(a)s` handles %(w)s.
The problem is in `%(p)s`: `%(a)s` returns before %(w)s.
I'll update `%(A)s` so that it keeps %(n)s entries instead of %(m)s.
All %(n)s tests pass, and `%(b)s` no longer touches the %(w)s.
Could you make `%(a)s` faster? It takes %(n)s ms for %(m)s rows.
Commit %(h)s changed `%(j)s`, which explains the %(w)s.
That leaves `%(p)s`, where the %(w)s is still missing.
Why does `%(a)s` call `%(b)s` twice when there is no %(w)s?
""".strip().splitlines()

PYTHON: Final = [
    """def %(a)s(%(b)s: str, limit: int = %(n)s) -> list[str]:
    # %(w)s
    seen: set[str] = set()
    found = []
    for %(b)s_part in %(b)s.split("\\t"):
        if %(b)s_part in seen:
            continue
        seen.add(%(b)s_part)
        found.append(f"{%(b)s_part}:%(h)s")
    return found[:limit]

""",
    """class %(A)s:
    \"\"\"%(w)s.\"\"\"

    def __init__(self, %(a)s: int = %(n)s) -> None:
        self._%(a)s = %(a)s
        self._%(b)s: dict[str, int] = {}

    def %(b)s(self, key: str) -> int:
        try:
            return self._%(b)s[key]
        except KeyError:
            raise LookupError(f"no %(w)s for {key!r}") from None

""",
    """@pytest.mark.parametrize("%(a)s", [%(n)s, %(m)s, -1])
def test_%(b)s_keeps_%(a)s(%(a)s: int) -> None:
    result = %(b)s(%(a)s)
    assert result == {"%(a)s": %(a)s, "hash": "%(h)s"}, "%(w)s"

""",
]
TYPESCRIPT: Final = [
    """export interface %(A)s {
  %(j)s: string; // %(w)s
  createdAt: number;
  retries?: number;
}

""",
    """export async function %(j)s(input: %(A)s[], signal?: AbortSignal): Promise<number> {
  const pending = input.filter((row) => row.%(j)s !== "%(h)s");
  for (const row of pending) {
    if (signal?.aborted) throw new Error(`%(w)s: ${row.%(j)s}`);
    await fetch("/api/%(b)s/%(n)s", { method: "POST", body: JSON.stringify(row) });
  }
  return pending.length * %(m)s;
}

""",
    """it("%(w)s", async () => {
  const { getByText } = render(<%(A)s %(j)s={%(n)s} />);
  expect(getByText(/%(b)s/i)).toBeVisible();
});

""",
]
GO: Final = [
    """// %(A)s holds %(w)s.
type %(A)s struct {
\t%(j)s  string
\tcount int64 // at most %(n)s
}

func (s *%(A)s) %(j)s(ctx context.Context, key string) (int, error) {
\tif err := ctx.Err(); err != nil {
\t\treturn 0, fmt.Errorf("%(w)s: %%w", err)
\t}
\ts.count += %(m)s
\treturn strings.Index(key, "%(h)s"), nil
}

""",
    """func Test%(A)s(t *testing.T) {
\tgot := %(j)s("%(p)s", %(n)s)
\tif want := %(m)s; got != want {
\t\tt.Fatalf("%(j)s() = %%d, want %%d (%(w)s)", got, want)
\t}
}

""",
]
MARKDOWN: Final = [
    (
        "## %(w)s\n\n- `%(a)s`: %(w)s (see [%(A)s](docs/%(b)s.md))\n- %(w)s, since %(h)s\n\n"
        "| %(a)s | %(b)s |\n|---|---|\n| %(n)s | %(m)s |\n\n"
    )
]
SHELL: Final = [
    "%(p)s:%(n)s:    %(a)s = %(b)s(%(m)s)  # %(w)s\n",
    "%(h)s %(w)s (%(a)s)\n",
    "PASS  %(p)s (%(n)s.%(m)s s)\n",
    "-rw-r--r-- 1 mara mara %(n)s%(m)s Jan  7 09:41 %(a)s.py\n",
    "tests/test_%(a)s.py::test_%(b)s \x1b[32mPASSED\x1b[0m [ %(n)s%%]\n",
    "added %(n)s packages, and audited %(m)s packages in 4s\n",
    " M %(p)s\n?? %(a)s/%(b)s.txt\n",
    "[%(n)s/%(m)s] Compiling %(a)s v0.%(n)s.%(m)s (%(p)s)\n",
    (
        "diff --git a/%(p)s b/%(p)s\nindex %(h)s..%(h)s 100644\n--- a/%(p)s\n+++ b/%(p)s\n@@ -%(n)s,7 +%(n)s,9 @@\n"
        "     def %(a)s(self):\n-        return self.%(b)s\n+        # %(w)s\n+        return self.%(b)s or %(m)s\n"
    ),
    (
        'Traceback (most recent call last):\n  File "%(p)s", line %(n)s, in %(a)s\n    return %(b)s(key, %(m)s)\n'
        "           ^^^^^^^^^^^\n%(A)sError: %(w)s\n"
    ),
    '{"level":"warn","msg":"%(w)s","%(a)s":%(n)s,"trace":"%(h)s%(h)s"}\n',
]
COMMANDS: Final = """
git status --short && git log --oneline -%(n)s
pytest -q tests/test_%(a)s.py -k "%(b)s" 2>&1 | tail -%(n)s
rg -n "%(a)s" %(p)s | head -%(n)s
npm run build -- --filter=%(b)s
go test ./... -run Test%(A)s -count=1
git diff %(h)s -- %(p)s
python -c 'from %(a)s import %(b)s; print(%(b)s("%(w)s"))'
find . -name "*%(b)s*" -newer %(p)s
docker compose logs --tail %(n)s %(a)s
curl -s "http://localhost:8080/%(b)s?limit=%(n)s" | jq .%(j)s
""".strip().splitlines()
