import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bodyOf, faultsOf, fieldsOf, formValue } from './form-schema.ts'

const schema = {
  required: ['name', 'price'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 80 },
    price: { type: 'integer' },
    note: { type: ['string', 'null'], maxLength: 5_000 },
    state: { anyOf: [{ type: 'string', enum: ['open', 'closed'] }, { type: 'null' }] },
    active: { type: 'boolean' },
    extra: { type: 'object' },
  },
}

describe('a form by the JSON Schema of a body', () => {
  const fields = fieldsOf(schema, [])
  const field = (name: string) => fields.find((one) => one.name === name)!

  test('gives each field its control, and says which may be without a value', () => {
    assert.deepEqual(
      fields.map(({ name, kind, required, nullable }) => [name, kind, required, nullable]),
      [
        ['name', 'text', true, false],
        ['price', 'number', true, false],
        ['note', 'longText', false, true],
        ['state', 'choice', false, true],
        ['active', 'boolean', false, false],
        ['extra', 'json', false, false],
      ],
    )
    assert.equal(field('price').whole, true)
    assert.deepEqual(field('state').options, ['open', 'closed'])
  })

  test('begins with what a row has', () => {
    assert.equal(formValue(field('note'), null), null)
    assert.equal(formValue(field('name'), undefined), '')
    assert.equal(formValue(field('active'), undefined), false)
    assert.equal(formValue(field('extra'), { a: 1 }), '{\n  "a": 1\n}')
  })

  test('finds the faults that a person can mend', () => {
    const values = { name: ' ', price: '1.5', note: null, state: null, active: true, extra: '{' }
    assert.deepEqual(faultsOf(fields, values, false), {
      name: 'Enter a value.',
      price: 'Enter a whole number.',
      extra: 'Enter JSON, such as {"color": "red"}.',
    })
    assert.deepEqual(faultsOf(fields, { ...values, name: 'Lamp', price: '2', extra: '' }, false), {})
    assert.deepEqual(
      Object.keys(faultsOf(fields, { ...values, name: 'Lamp', price: 'x', extra: '' }, true)),
      ['price', 'extra'],
    )
  })
})
