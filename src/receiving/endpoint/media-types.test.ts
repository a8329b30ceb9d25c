import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takesMediaType } from './evaluate.ts'

test('only JSON is accepted unless a scheme lists other types; an empty list accepts all', () => {
  const form = 'application/x-www-form-urlencoded; charset=utf-8'
  const taken = (mediaTypes?: readonly string[]) =>
    ['application/json', 'application/cloudevents+json', form, 'Text/XML', ''].map((type) =>
      takesMediaType(mediaTypes === undefined ? {} : { mediaTypes }, type),
    )
  assert.deepEqual(taken(), [true, true, false, false, false])
  assert.deepEqual(taken(['application/json', 'application/x-www-form-urlencoded']), [
    true,
    true,
    true,
    false,
    false,
  ])
  assert.deepEqual(taken(['text/xml']), [false, false, false, true, false])
  assert.deepEqual(taken([]), [true, true, true, true, true])
})
