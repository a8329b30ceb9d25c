// What the pages show below a command is what the command prints, against one service in demo mode.
//
// A block whose lines begin with `$ ` is run if it shows output. Times, ids, keys, ports and sizes are masked (documented/mask.ts);
// write `…` for anything else that differs. A block that needs what a test does not have is fenced, with its reason:
//
//     ```console no-run needs PostgreSQL
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { blocksOf, pages, stepsOf, type Block, type Step } from './documented/blocks.ts'
import { matches } from './documented/mask.ts'
import { Terminal } from './documented/terminal.ts'

const shows = (block: Block) => stepsOf(block).some(({ output }) => output.trim() !== '')
const blocks = pages.flatMap(blocksOf).filter(shows)
const left = blocks.filter(({ info }) => info.startsWith('no-run'))

/** A command that only reads is repeated: what it shows may still be on its way. */
const reads = ({ command }: Step): boolean => /^curl(?!.* (?:-X|-d|--data|-F|-T)\b)/s.test(command)

describe('the output that pages show', () => {
  let terminal: Terminal
  before(async () => {
    terminal = new Terminal()
    await terminal.ready()
  })
  after(() => terminal.close())

  const run = blocks.filter((block) => !left.includes(block))
  for (const page of new Set(run.map((block) => block.page)))
    test(page, async () => {
      for (const block of run.filter((one) => one.page === page))
        for (const step of stepsOf(block)) await compare(page, block, step)
    })

  async function compare(page: string, { from }: Block, step: Step): Promise<void> {
    let printed = await terminal.run(page, step.command)
    if (step.output.trim() === '') return
    for (let tries = 0; reads(step) && tries < 50 && !matches(step.output, printed); tries++) {
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
  assert.ok(notRun <= (all * 2) / 3, `${notRun} of ${all} commands are not run`)
})
