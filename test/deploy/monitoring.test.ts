// The alerting rules and the board of deploy/: every metric in them exists, every run-book too, and promtool accepts the rules.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { engines, startTestService } from '../harness/index.ts'

const deploy = join(import.meta.dirname, '../../deploy')
const rules = readFileSync(join(deploy, 'prometheus/postern-rules.yaml'), 'utf8')
const board = readFileSync(join(deploy, 'grafana/postern.json'), 'utf8')

/** The metrics of a process with a spool, which `GET /metrics` of others does not list. */
const ofSpool = [
  'postern_spool_away',
  'postern_spool_events',
  'postern_spool_oldest_seconds',
  'postern_spool_webhooks_total',
]

test('every metric of the rules and of the board exists, with its labels', async () => {
  await using service = await startTestService(engines[0]!)
  const text = await (await service.admin('/metrics')).text()
  const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!))
  for (const name of ofSpool) known.add(name)
  const named = [...`${rules}\n${board}`.matchAll(/\bpostern_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  )
  assert.ok(named.length >= 15)
  assert.deepEqual(
    [...new Set(named)].filter((name) => !known.has(name)),
    [],
  )
})

test('every alert has a run-book', () => {
  const page = readFileSync(join(deploy, '../docs/guides/run-books.md'), 'utf8')
  const sections = new Set(
    [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title!.toLowerCase().replaceAll(' ', '-')),
  )
  const named = [...rules.matchAll(/runbook: run-books\.md#(\S+)/g)].map(([, section]) => section!)
  assert.equal(named.length, [...rules.matchAll(/- alert:/g)].length)
  for (const section of named) assert.ok(sections.has(section), section)
})

test('promtool accepts the rules, and they fire as their tests say', (t) => {
  const options = { cwd: join(deploy, 'prometheus'), encoding: 'utf8' } as const
  if (spawnSync('promtool', ['--version'], options).error) return t.skip('promtool is not installed')
  for (const args of [
    ['check', 'rules', 'postern-rules.yaml'],
    ['test', 'rules', 'postern-rules.test.yaml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, options)
    assert.equal(status, 0, stdout + stderr)
  }
})
