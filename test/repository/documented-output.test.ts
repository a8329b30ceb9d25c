// What the pages show below a command is what the command prints, against one service in demo mode.
//
// A block whose lines begin with `$ ` is run if it shows output. Times, ids, keys, ports and sizes are masked (documented/mask.ts);
// write `…` for anything else that differs. The words after `console` say where it runs (documented/places.ts). A block that needs
// what this test does not have says so, or which other test runs it:
//
//     ```console no-run needs a screen
//     ```console run-by test/examples/existing-tables.test.ts
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { blocksOf, pages, root, stepsOf, type Block, type Step } from './documented/blocks.ts'
import { matches } from './documented/mask.ts'
import { testPages } from './documented/page-tests.ts'
import { isPlace } from './documented/places.ts'
import { Terminal } from './documented/terminal.ts'

const shows = (block: Block) => isPlace(block) || stepsOf(block).some(({ output }) => output.trim() !== '')
const isElsewhere = ({ info }: Block): boolean => info.startsWith('run-by ')
const elsewhere = pages.flatMap(blocksOf).filter(isElsewhere)
const blocks = pages.flatMap(blocksOf).filter((block) => shows(block) && !isElsewhere(block))
const left = blocks.filter(({ info }) => info.startsWith('no-run'))

/** A command that only reads is repeated: what it shows may still be on its way. */
const reads = ({ command }: Step): boolean => /^curl(?!.* (?:-X|-d|--data|-F|-T)\b)/s.test(command)

describe('the output that pages show', () => {
  let shared: Terminal
  before(async () => {
    shared = new Terminal()
    await shared.ready()
  })
  after(() => shared.close())

  testPages(
    blocks.filter((block) => !left.includes(block)),
    () => shared,
    async (terminal, block) => {
      for (const step of stepsOf(block)) await compare(terminal, block, step)
    },
  )

  async function compare(terminal: Terminal, { from, page }: Block, step: Step): Promise<void> {
    let printed = await terminal.run(page, step.command)
    if (step.output.trim() === '') return
    for (let tries = 0; reads(step) && tries < 300 && !matches(step.output, printed); tries++) {
      await wait(200)
      printed = await terminal.run(page, step.command)
    }
    if (matches(step.output, printed)) return
    assert.equal(printed.trim(), step.output.trim(), `${from}: ${step.command}`)
    assert.fail(`${from}: ${step.command}`)
  }
})

test('blocks that are not run say why', (context) => {
  for (const { from, info } of left) {
    context.diagnostic(`${from}: ${info}`)
    assert.match(info, /^no-run \S/, `${from} does not say why it cannot be run`)
  }
  const commands = (some: Block[]): number => some.flatMap(stepsOf).length
  const [all, notRun] = [commands(blocks), commands(left)]
  context.diagnostic(`${all - notRun} of ${all} commands are run`)
  assert.ok(notRun <= all / 10, `${notRun} of ${all} commands are not run`)
})

test('a block that another test runs names a test that reads its page', () => {
  for (const { from, page, info } of elsewhere) {
    const file = join(root, info.split(' ')[1]!)
    assert.ok(existsSync(file), `${from} names no file`)
    assert.ok(readFileSync(file, 'utf8').includes(basename(dirname(page))), `${from}: ${info}`)
  }
  assert.ok(elsewhere.length > 0)
})
