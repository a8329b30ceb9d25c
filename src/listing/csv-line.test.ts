import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

/** The cells of a line for a spreadsheet that separates by `separator`: quotes count at the beginning of a cell only. */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let quoted = false
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!
    if (quoted && char === '"' && line[at + 1] === '"') cell += line[(at += 1)]!
    else if (quoted && char === '"') quoted = false
    else if (quoted) cell += char
    else if (char === '"' && cell === '') quoted = true
    else if (char === separator || char === '\r' || char === '\n') {
      cells.push(cell)
      cell = ''
    } else cell += char
  }
  return [...cells, cell]
}

const formulas = [
  '=1+1',
  '@SUM(A1)',
  "+cmd|'/c calc'!A0",
  "-2+3+cmd|' /C calc'!D2",
  '＝1+1',
  '"=1+1"',
  '  =1+1',
]

test('no cell begins with a formula, by whatever separator a spreadsheet reads', () => {
  for (const text of formulas)
    for (const before of ['', 'x;', 'x\t', 'x\n', 'x\r\n', 'x;;', '";', "';"])
      for (const line of [csvLine(['a', before + text, 'b']), csvLine([before + text])])
        for (const separator of [',', ';', '\t'])
          for (const cell of cellsOf(line, separator))
            assert.doesNotMatch(cell, /^[=+\-@＝＋－＠]/, JSON.stringify([line, separator]))
})

test('texts with a separator are quoted, and prose and numbers stay as they are', () => {
  assert.equal(csvLine(['x;y', 'x\ty', 'a,b', 'say "no"']), '"x;y","x\ty","a,b","say ""no"""\r\n')
  assert.equal(
    csvLine(['- one\n- two', -5, '-5', '1;-5', 'a = b']),
    '"\'- one\n- two",-5,-5,"1;-5",a = b\r\n',
  )
  assert.equal(csvLine([null, '', 'x']), ',"",x\r\n', 'null is not the empty text')
  assert.equal(csvLine([null, undefined, true, { a: [1] }]), ',,true,"{""a"":[1]}"\r\n')
})
