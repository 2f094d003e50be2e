import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../trailmap.js'

test('the label has the length and the climb', () => {
  assert.match(run('trails/lake.gpx'), /1\.5 km, 38 m up/)
})
