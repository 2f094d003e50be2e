"""The map tool: smoothing, taking one long function apart, and a bisect."""

from demo.story import HAIKU, OPUS_41, SONNET, Ask, Session, answer, bash, edit, read, think, todo, write

EXPERIMENT = """node --input-type=module -e '
const noise = (i) => Math.sin(i * 12.9898) * 2.5
const track = Array.from({ length: 400 }, (_, i) => 900 + i * 0.2 + noise(i))
const climb = (e) => e.reduce((sum, x, i) => (i && x > e[i - 1] ? sum + x - e[i - 1] : sum), 0)
const mean = (e, n) => e.map((_, i) => { const w = e.slice(Math.max(0, i - n), i + n + 1); return w.reduce((a, b) => a + b) / w.length })
const steps = (e, min) => { let last = e[0], sum = 0; for (const x of e) { if (x - last >= min) { sum += x - last; last = x } else if (x < last - min) last = x } return sum }
console.log("true  80")
console.log("raw  ", Math.round(climb(track)))
for (const n of [2, 5, 10]) console.log("mean over", 2 * n + 1, Math.round(climb(mean(track, n))))
for (const m of [3, 5, 10]) console.log("steps of at least", m, "m:", Math.round(steps(track, m)))
'"""

SMOOTHING = Session(
    "smoothing",
    "Smoothing GPS heights",
    "trailmap",
    "2026-09-03T18:20",
    OPUS_41,
    (
        Ask(
            "My walks have far too much climb: GPS heights jitter by two or three metres, and we add up every little step. How "
            "would you smooth that? No code yet, I'd like to understand it.",
            [
                answer(
                    "Let me measure it on a made-up track, where we know the truth: 80 m up with jitter of ± 2.5 m.",
                    bash(EXPERIMENT, "Compare ways of smoothing"),
                ),
                answer(
                    "Two families:\n\n"
                    "- **A moving average** gets better with a longer window, but it also planes off real summits, and the right "
                    "window depends on how often the device records.\n"
                    "- **A threshold** (count a climb only once it is more than a few metres) doesn't depend on that. It needs a "
                    "threshold as large as the whole jitter, here 5 m, and then it is nearly exact.\n\n"
                    "I would take the threshold, with **5 m**; 10 m already loses the last rise. It is also what people expect: nobody feels a "
                    "climb of two metres."
                ),
            ],
        ),
        Ask(
            "Convincing, and my walk around the lake keeps its 38 m, they are one long rise. Let's leave it until the code is less of a "
            "heap. Remind me then: threshold, not average, 5 m.",
            [
                answer(
                    "Noted: **a threshold of 5 m, not a moving average**. And agreed on the order: `run()` does five things in sixty "
                    "lines; taking it apart first will make this a change of three."
                )
            ],
            after=160,
        ),
    ),
    version="2.0.76",
    deleted=True,
)

GPX = """/** The points of a GPX file: latitude and longitude in degrees, height in metres. */
export function parse(text) {
  const points = []
  for (const [, lat, lon, ele] of text.matchAll(/<trkpt lat="([^"]+)" lon="([^"]+)">\\s*(?:<ele>([^<]+)<\\/ele>)?/g)) {
    points.push({ lat: parseFloat(lat), lon: parseFloat(lon), ele: parseFloat(ele ?? '0') })
  }
  return points
}
"""

MEASURE = """const EARTH = 6371000
const radians = (degrees) => (degrees * Math.PI) / 180

/** The distance of two points in metres, along a great circle. */
export function distance(a, b) {
  const h =
    Math.sin(radians(b.lat - a.lat) / 2) ** 2 +
    Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * Math.sin(radians(b.lon - a.lon) / 2) ** 2
  return 2 * EARTH * Math.asin(Math.sqrt(h))
}

export function measure(points) {
  let length = 0
  let climb = 0
  for (let i = 1; i < points.length; i++) {
    length += distance(points[i - 1], points[i])
    climb += Math.max(0, points[i].ele - points[i - 1].ele)
  }
  return { length, climb }
}
"""

DRAW = """const radians = (degrees) => (degrees * Math.PI) / 180

/** Mercator: x to the right, y up, in units of the earth's radius. */
export const project = ({ lat, lon }) => ({ x: radians(lon), y: Math.log(Math.tan(Math.PI / 4 + radians(lat) / 2)) })

export function draw(points, label, width) {
  const flat = points.map(project)
  const [left, right] = [Math.min(...flat.map((p) => p.x)), Math.max(...flat.map((p) => p.x))]
  const [bottom, top] = [Math.min(...flat.map((p) => p.y)), Math.max(...flat.map((p) => p.y))]
  const scale = width / (right - left)
  const height = Math.round((top - bottom) * scale)
  const path = flat.map((p) => `${((p.x - left) * scale).toFixed(1)} ${(height - (p.y - bottom) * scale).toFixed(1)}`)
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">` +
    `<path d="M${path.join(' L')}" fill="none" stroke="#c33" stroke-width="3"/>` +
    `<text x="8" y="${height - 8}">${label}</text></svg>`
  )
}
"""

MAIN = """#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { draw } from './lib/draw.js'
import { parse } from './lib/gpx.js'
import { measure } from './lib/measure.js'

export function run(file, width = 600) {
  const points = parse(readFileSync(file, 'utf8'))
  const { length, climb } = measure(points)
  return draw(points, `${(length / 1000).toFixed(1)} km, ${Math.round(climb)} m up`, width)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(run(process.argv[2]))
}
"""

REFACTORING = Session(
    "refactoring",
    "Take trailmap.js apart",
    "trailmap",
    "2026-09-24T09:31",
    SONNET,
    (
        Ask(
            "trailmap.js is one function of sixty lines. Please take it apart: reading, measuring, drawing. The picture must stay "
            "the same, byte for byte.",
            [
                answer(
                    think(
                        "Refactoring with a hard condition: same bytes. So first record what it draws now, then move code, then "
                        "compare. Keep run() exported: the test and the README use it."
                    ),
                    "Byte for byte is a good condition. I'll keep a copy of what it draws today and compare after every step.",
                    read("trailmap/trailmap.js"),
                    bash(
                        "node trailmap.js trails/lake.gpx > before.svg && wc -c before.svg && node --test 2>&1 | grep -E '^# (pass|fail)'",
                        "Keep today's picture",
                    ),
                    todo(
                        "> Reading: lib/gpx.js",
                        "- Measuring: lib/measure.js",
                        "- Drawing: lib/draw.js",
                        "- Compare the pictures",
                    ),
                ),
                answer(
                    write("trailmap/lib/gpx.js", GPX),
                    write("trailmap/lib/measure.js", MEASURE),
                    write("trailmap/lib/draw.js", DRAW),
                ),
                answer(
                    write("trailmap/trailmap.js", MAIN),
                    todo(
                        "x Reading: lib/gpx.js",
                        "x Measuring: lib/measure.js",
                        "x Drawing: lib/draw.js",
                        "> Compare the pictures",
                    ),
                ),
                answer(
                    bash(
                        "node trailmap.js trails/lake.gpx | cmp - before.svg && echo same; node --test 2>&1 | grep -E '^# (pass|fail)'",
                        "Compare",
                    )
                ),
                answer(
                    "Same picture, byte for byte, and the test passes.\n\n"
                    "| file | lines | does |\n|---|---|---|\n"
                    "| `lib/gpx.js` | 8 | text → points |\n| `lib/measure.js` | 20 | points → length, climb |\n"
                    "| `lib/draw.js` | 18 | points → SVG |\n| `trailmap.js` | 16 | the command |\n\n"
                    "Each of the three can be tested without a file now."
                ),
            ],
        ),
        Ask(
            "Beautiful. Tests for measure and gpx, then commit.",
            [
                answer(
                    write(
                        "trailmap/test/measure.test.js",
                        "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\n"
                        "import { distance, measure } from '../lib/measure.js'\n\n"
                        "test('a degree of latitude is about 111 km', () => {\n"
                        "  assert.equal(Math.round(distance({ lat: 0, lon: 0 }, { lat: 1, lon: 0 }) / 1000), 111)\n})\n\n"
                        "test('only what goes up is climb', () => {\n"
                        "  const heights = [100, 120, 90, 95]\n"
                        "  assert.equal(measure(heights.map((ele) => ({ lat: 0, lon: 0, ele }))).climb, 25)\n})\n",
                    ),
                    write(
                        "trailmap/test/gpx.test.js",
                        "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\n"
                        "import { parse } from '../lib/gpx.js'\n\n"
                        "test('a point without a height is at sea level', () => {\n"
                        '  assert.deepEqual(parse(\'<trkpt lat="47.5" lon="11"></trkpt>\'), [{ lat: 47.5, lon: 11, ele: 0 }])\n})\n',
                    ),
                ),
                answer(
                    bash(
                        "node --test 2>&1 | grep -E '^# (pass|fail)'; rm before.svg; git add -A && git commit -q -m 'Reading, measuring and drawing are apart' && git log --oneline -2",
                        "Test and commit",
                    )
                ),
                answer("Four tests, all green, and committed."),
            ],
            after=120,
        ),
        Ask(
            "While we are at it: heights like 912.4 are silly, no GPS knows that. Round them to whole metres when reading.",
            [
                answer(
                    edit(
                        "trailmap/lib/gpx.js", "ele: parseFloat(ele ?? '0')", "ele: Math.round(parseFloat(ele ?? '0'))"
                    )
                ),
                answer(
                    bash(
                        "node --test 2>&1 | grep -E '^# (pass|fail)'; git commit -qam 'Whole metres' && git log --oneline -1",
                        "Test and commit",
                    )
                ),
                answer("Done: whole metres from the start. The lake walk still has 38 m."),
            ],
            after=75,
        ),
    ),
    version="2.0.76",
)

RIDGE = (
    '<?xml version="1.0"?>\n<gpx version="1.1"><trk><name>Along the ridge</name><trkseg>\n'
    + "".join(
        f'<trkpt lat="{47.43 + i * 0.0004:.4f}" lon="{11.27 + i * 0.0009:.4f}"><ele>{1500.45 - 0.9 * (i % 2)}</ele></trkpt>\n'
        for i in range(31)
    )
    + "</trkseg></trk></gpx>\n"
)

BISECT = Session(
    "bisect",
    "Bisect: the ridge shows 0 m up",
    "trailmap",
    "2026-10-20T12:44",
    OPUS_41,
    (
        Ask(
            "I saved a walk along a ridge as trails/ridge.gpx. It used to show 14 m up, and now it says 0 m up. Please find the "
            "commit with git bisect.",
            [
                answer(
                    bash(
                        "node trailmap.js trails/ridge.gpx | grep -o '<text.*'; git log --oneline",
                        "See it, and the commits",
                    )
                ),
                answer(
                    "Confirmed. The file is untracked, so it survives the jumping about. Let git do the work:",
                    bash(
                        "git bisect start HEAD $(git rev-list --max-parents=0 HEAD) && "
                        "git bisect run sh -c 'node trailmap.js trails/ridge.gpx | grep -q \"14 m up\"'; git bisect reset",
                        "Bisect",
                    ),
                ),
                answer(
                    think(
                        "'Whole metres' - rounding before summing. Steps of 0.9 m between 1499.55 and 1500.45 both round to 1500."
                    ),
                    "It is **“Whole metres”**: heights are rounded when they are *read*. On the ridge every step is 0.9 m, from "
                    "1499.55 to 1500.45, and both become 1500. Rounding belongs at the end, in the label, and there it already "
                    "is. I'd take it out of `lib/gpx.js`. OK?",
                ),
            ],
        ),
        Ask(
            "Yes. That was my idea, and you went along with it! Please add the ridge as a test.",
            [
                answer(read("trailmap/lib/gpx.js"), read("trailmap/test/trailmap.test.js")),
                answer(
                    edit(
                        "trailmap/lib/gpx.js", "ele: Math.round(parseFloat(ele ?? '0'))", "ele: parseFloat(ele ?? '0')"
                    ),
                    edit(
                        "trailmap/test/trailmap.test.js",
                        "test('the label",
                        "test('small steps count: rounding comes last', () => {\n  assert.match(run('trails/ridge.gpx'), /14 m up/)\n})\n\ntest('the label",
                    ),
                ),
                answer(
                    bash(
                        "node --test 2>&1 | grep -E '^# (pass|fail)'; git add -A && git commit -q -m 'Round heights in the label only' && git log --oneline -1",
                        "Test and commit",
                    )
                ),
                answer(
                    "Guilty: I ran the tests, and none of them had a walk with small steps. Now one has. (That also is the reason to "
                    "want a threshold for the climb one day: 14 m of 0.9 m each is mostly jitter.)"
                ),
            ],
            after=100,
        ),
    ),
    version="2.0.76",
    files={"trailmap/trails/ridge.gpx": RIDGE},
)

ONE_POINT = Session(
    "one-point",
    "A track with one point",
    "trailmap",
    "2026-11-09T17:05",
    HAIKU,
    (
        Ask(
            'If a track has only one point, the SVG says viewBox="0 0 600 NaN". A small fix, please.',
            [
                answer(read("trailmap/lib/draw.js")),
                answer(
                    "With one point the width is zero, and the scale divides by it. A floor under both sides:",
                    edit(
                        "trailmap/lib/draw.js",
                        "  const scale = width / (right - left)",
                        "  const scale = right > left ? width / (right - left) : 1",
                    ),
                ),
                answer(
                    edit(
                        "trailmap/lib/draw.js",
                        "  const height = Math.round((top - bottom) * scale)",
                        "  const height = Math.max(20, Math.round((top - bottom) * scale)) // room for the label",
                    )
                ),
                answer(
                    bash(
                        "node --input-type=module -e \"import { draw } from './lib/draw.js'; console.log(draw([{ lat: 47, lon: 11 }], '0.0 km', 600))\""
                        " && node --test 2>&1 | grep -E '^# (pass|fail)' && git commit -qam 'A track of one point can be drawn'",
                        "Try one point, test, commit",
                    )
                ),
                answer("One point is drawn as a label on an empty map of 600 × 20. Committed."),
            ],
        ),
    ),
)

SESSIONS = (SMOOTHING, REFACTORING, BISECT, ONE_POINT)
