// The recording that the README shows: it is drawn from what was recorded, and the service still prints that.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { draw } from '../../scripts/recording/draw.ts'
import type { Recording } from '../../scripts/recording/recording.ts'
import { root } from './documented/blocks.ts'
import { callsIn, faultOf, npmScripts } from './documented/commands.ts'
import { markupFaultOf } from './documented/markup.ts'
import { matches } from './documented/mask.ts'
import { Terminal } from './documented/terminal.ts'

const read = (name: string): string => readFileSync(join(root, 'docs/recordings', name), 'utf8')
const recording = JSON.parse(read('first-minute.json')) as Recording
const picture = read('first-minute.svg')
const [first, second] = recording.scenes

test('the picture is drawn from what was recorded', () => {
  assert.equal(picture, draw(recording), 'run `npm run recording -- --draw`')
  for (const { steps } of recording.scenes)
    for (const { command } of steps)
      assert.ok(picture.includes(command.slice(0, 40).replaceAll('&', '&amp;')))
})

test('the picture is well-formed, and needs nothing from elsewhere', () => {
  assert.equal(markupFaultOf(picture), undefined)
  assert.doesNotMatch(picture, /<script|href=|url\(|@import|<foreignObject/)
  assert.match(picture, /prefers-reduced-motion:reduce\)\{\*\{animation:none!important/)
  assert.match(picture, /prefers-color-scheme:dark/)
  const moves = new Set([...picture.matchAll(/@keyframes ([a-z]+\d*)\{/g)].map(([, name]) => name))
  const used = [...picture.matchAll(/(?<=animation:|,)([a-z]+\d*) 1ms/g)].map(([, name]) => name)
  assert.ok(used.length > 2)
  assert.deepEqual(
    used.filter((name) => !moves.has(name)),
    [],
  )
  assert.equal(markupFaultOf('<a><b></a>'), '</a> closes b')
  assert.doesNotMatch(picture, /&(?!amp;|lt;|gt;)/)
})

test('its commands exist', () => {
  const commands = recording.scenes.flatMap(({ steps }) => steps.map(({ command }) => command))
  const scripts = npmScripts()
  const scriptOf = (command: string): string[] =>
    /^npm (?:run (?:-s )?)?([a-z]+)/.exec(command)?.slice(1) ?? []
  const named = commands.flatMap(scriptOf)
  assert.deepEqual(
    named.filter((name) => !scripts.has(name)),
    [],
  )
  const faults = commands.flatMap(callsIn).map(faultOf)
  assert.ok(named.length >= 2 && faults.length > 0)
  assert.deepEqual(
    faults.filter((fault) => fault !== undefined),
    [],
  )
})

describe('the service prints what was recorded', () => {
  let terminal: Terminal
  before(async () => {
    terminal = new Terminal()
    await terminal.ready()
  })
  after(() => terminal.close())

  test('at the start', async () => {
    const [{ lines } = assert.fail('no start')] = first!.steps
    const from = lines.findIndex(({ text }) => text.startsWith('  Postern is running'))
    const to = lines.findIndex(({ text }) => text.startsWith('  Secrets were generated'))
    assert.ok(from > 0 && to - from > 15, `${from} to ${to}`)
    const expected = lines
      .slice(from, to)
      // Signatures, keys and ids are those of one run.
      .map(({ text }) => text.trim().split(/'x-signature|Bearer/)[0]!)
    const missing = (): string[] => expected.filter((text) => !terminal.printed().includes(text))
    // The service is ready before all that it prints has arrived.
    for (let tries = 0; missing().length > 0 && tries < 50; tries++) await wait(200)
    assert.deepEqual(missing(), [])
  })

  test('by each command', async () => {
    for (const { command, lines } of second!.steps) {
      const wanted = lines.map(({ text }) => text).join('\n')
      let printed = await terminal.run('recording', command)
      // What a command reads may still be on its way.
      for (let tries = 0; command.startsWith("curl '") && tries < 50 && !matches(wanted, printed); tries++) {
        await wait(200)
        printed = await terminal.run('recording', command)
      }
      if (!matches(wanted, printed)) assert.equal(printed, wanted, `${command}: run \`npm run recording\``)
    }
  })
})
