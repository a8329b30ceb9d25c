// The lines of shells that pages show without a prompt run: in the place that the words after `sh` name (documented/places.ts), by default
// against one service in demo mode. Which lines no test runs, and why, is in documented/left-out.ts; a block may also say it itself:
//
//     ```sh no-run needs a screen
//     ```sh run-by test/repository/sender-pages.test.ts
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { allPages, blocksOf, type Block } from './documented/blocks.ts'
import { commandLinesOf } from './documented/commands.ts'
import { whyLeftOut } from './documented/left-out.ts'
import { testPages } from './documented/page-tests.ts'
import { Terminal } from './documented/terminal.ts'

const blocks = allPages.flatMap(blocksOf).filter(({ language }) => language === 'sh')

function reasonOf(block: Block): string | undefined {
  const [, word, why] = /^(no-run|run-by) (.+)/.exec(block.info) ?? []
  if (word !== undefined) return word === 'no-run' ? why : 'another test runs it'
  return commandLinesOf(block).map(whyLeftOut).find(Boolean)
}

const run = blocks.filter((block) => reasonOf(block) === undefined)
const done = 'all lines were run'

describe('the lines of shells that pages show', () => {
  let shared: Terminal
  before(async () => {
    shared = new Terminal()
    await shared.ready()
  })
  after(() => shared.close())

  testPages(
    run,
    () => shared,
    async (terminal, { from, page, text }) => {
      const printed = await terminal.run(page, `set -e -o pipefail\n${text}\nset +e\necho '${done}'`)
      assert.ok(printed.trimEnd().endsWith(done), `${from}:\n${printed}`)
      assert.doesNotMatch(printed, /"type":"\/problems\//, from)
    },
  )

  test('a line that fails is found', async () => {
    const printed = await shared.run('a page', `set -e\nnpx postern keys invent\necho '${done}'`)
    assert.doesNotMatch(printed, new RegExp(done))
  })
})

test('blocks that are not run have a reason', (context) => {
  const reasons = Map.groupBy(blocks, (block) => reasonOf(block) ?? 'run here')
  for (const [reason, some] of reasons) context.diagnostic(`${some.length}: ${reason}`)
  assert.ok(run.length >= 10, `${run.length} of ${blocks.length} blocks are run`)
})
