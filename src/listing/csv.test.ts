import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCsv, type FileRecord, maxRecordLength } from './csv.ts'

async function* inParts(content: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

/** Reads a file in parts of different sizes, which must not matter. */
async function read(content: string): Promise<FileRecord[]> {
  const bytes = Buffer.from(content)
  const [whole, ...others] = await Promise.all(
    [bytes.length, ...(bytes.length < 1_000 ? [1, 7] : [])].map((size) =>
      Array.fromAsync(readCsv(inParts(bytes, size))),
    ),
  )
  for (const other of others) assert.deepEqual(other, whole)
  return whole!
}

const record = (line: number, a: string, b: string): FileRecord => ({ line, fields: { a, b } })

test('quotes, commas and line ends within quotes, as in RFC 4180', async () => {
  assert.deepEqual(await read('a,b\r\n"x, ""y""","1\r\n2\n"\r\n,""\n\r\n\n3 "4",é"😀'), [
    record(2, 'x, "y"', '1\r\n2\n'),
    record(5, '', ''),
    record(8, '3 "4"', 'é"😀'),
  ])
  assert.deepEqual(await read('a,b\n"1","2"'), [record(2, '1', '2')])
  assert.deepEqual(await read('a,b\ntoo long,2\r\n'), [record(2, 'too long', '2')])
})

test('a byte order mark before a quoted name', async () => {
  assert.deepEqual(await read('\ufeff"a","b"\r\n1,2\r\n'), [record(2, '1', '2')])
})

test('a quote that is not closed spoils its line, and no other', async () => {
  assert.deepEqual(await read('a,b\n1,"open\n2,x\n3,y\n'), [
    { line: 2, fault: 'has a quote that is not closed' },
    record(3, '2', 'x'),
    record(4, '3', 'y'),
  ])
  // The next quote seems to close it.
  assert.deepEqual(await read('a,b\n1,"open\n2,"x"\n3,"y\nz"\n'), [
    { line: 2, fault: 'has a quote that is not closed' },
    record(3, '2', 'x'),
    record(4, '3', 'y\nz'),
  ])
  // The quote is on a later line of its record.
  assert.deepEqual(await read('a,b\n"1\n2","open\n3,x\n'), [
    { line: 3, fault: 'has a quote that is not closed' },
    record(4, '3', 'x'),
  ])
  assert.deepEqual(await read('a,b\n1,"x" y\n2,z\n'), [
    { line: 2, fault: 'has a text after a closing quote' },
    record(3, '2', 'z'),
  ])
})

test('a record beyond the longest is a fault, and the reading goes on', async () => {
  const long = 'x'.repeat(maxRecordLength + 1)
  const line = `${'y'.repeat(999)}\n`
  const records = await read(`a,b\n${long},1\n2,"${line.repeat(1_100)}3,z\n`)
  assert.deepEqual(records.slice(0, 3), [
    { line: 2, fault: `is longer than ${maxRecordLength} bytes` },
    { line: 3, fault: 'has a quote that is not closed' },
    { line: 4, fault: 'has 1 fields instead of 2' },
  ])
  assert.deepEqual(records.at(-1), record(1_103, '3', 'z'))
  assert.deepEqual(await read(`a,b\n1,"${long}\n2,3`), [
    { line: 2, fault: `is longer than ${maxRecordLength} bytes` },
    record(3, '2', '3'),
  ])
})

test('a wrong number of fields tells how far its record reaches', async () => {
  assert.deepEqual(await read('a,b\n1,2,3\n"4\n5"\n'), [
    { line: 2, fault: 'has 3 fields instead of 2' },
    { line: 3, fault: 'has 1 fields instead of 2, up to line 4' },
  ])
})
