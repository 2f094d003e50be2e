#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const EARTH = 6371000

export function run(file, width = 600) {
  const text = readFileSync(file, 'utf8')
  const points = []
  const re = /<trkpt lat="([^"]+)" lon="([^"]+)">\s*(?:<ele>([^<]+)<\/ele>)?/g
  let m
  while ((m = re.exec(text))) {
    points.push({ lat: parseFloat(m[1]), lon: parseFloat(m[2]), ele: m[3] ? parseFloat(m[3]) : 0 })
  }
  let length = 0
  let climb = 0
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1]
    const b = points[i]
    const dLat = ((b.lat - a.lat) * Math.PI) / 180
    const dLon = ((b.lon - a.lon) * Math.PI) / 180
    const h =
      Math.sin(dLat / 2) ** 2 +
      Math.cos((a.lat * Math.PI) / 180) * Math.cos((b.lat * Math.PI) / 180) * Math.sin(dLon / 2) ** 2
    length += 2 * EARTH * Math.asin(Math.sqrt(h))
    if (b.ele > a.ele) climb += b.ele - a.ele
  }
  let minX = Infinity
  let maxX = -Infinity
  let minY = Infinity
  let maxY = -Infinity
  const flat = []
  for (const p of points) {
    const x = (p.lon * Math.PI) / 180
    const y = Math.log(Math.tan(Math.PI / 4 + (p.lat * Math.PI) / 360))
    flat.push({ x, y })
    if (x < minX) minX = x
    if (x > maxX) maxX = x
    if (y < minY) minY = y
    if (y > maxY) maxY = y
  }
  const scale = width / (maxX - minX)
  const height = Math.round((maxY - minY) * scale)
  let d = ''
  for (let i = 0; i < flat.length; i++) {
    const px = ((flat[i].x - minX) * scale).toFixed(1)
    const py = (height - (flat[i].y - minY) * scale).toFixed(1)
    d += (i === 0 ? 'M' : ' L') + px + ' ' + py
  }
  const label = (length / 1000).toFixed(1) + ' km, ' + Math.round(climb) + ' m up'
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">` +
    `<path d="${d}" fill="none" stroke="#c33" stroke-width="3"/>` +
    `<text x="8" y="${height - 8}">${label}</text></svg>`
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(run(process.argv[2]))
}
