import { setTimeout as wait } from 'node:timers/promises'
import { check, faultsOf, type Verdict } from './check.ts'
import { Draw } from './faults/fault.ts'
import { plan, type Planned } from './faults/index.ts'
import { now } from './now.ts'
import { settled, settleLimit } from './settled.ts'
import { World, type WorldOptions } from './world.ts'

export interface CampaignOptions extends WorldOptions {
  faults: number
  /** Names of the faults to make; all when there is none. */
  only: readonly string[]
  /** Milliseconds after which no further fault begins. */
  time: number
  /** Faults that one database and its processes suffer until all is checked and they are made anew. */
  faultsOfWorld: number
  /** Milliseconds that a fault lasts at most. Default: as long as it wants. */
  longest?: number
  say: (line: string) => void
  /** Ends the campaign after the fault that is under way. */
  signal: AbortSignal
}

export interface FaultResult {
  fault: string
  seed: number
  did: string
  passed: boolean
  /** Milliseconds from its end until everything that had been acknowledged by then had its effect. */
  recoveredMs: number
  /** Milliseconds from its end until all processes said that they are ready. */
  readyMs: number
  /** What had its effect last. */
  last: string
  stalled: number
  foreign: number
}

export interface CampaignResult {
  faults: FaultResult[]
  verdicts: Verdict[]
  longestMs: number
}

/** Milliseconds of a recovery after which it is told what came last. */
const slow = 3_000

/** Makes faults one after the other, under load, and holds what was acknowledged against what has come of it. */
export async function campaign(
  options: CampaignOptions,
  onWorld?: (world: World) => void,
): Promise<CampaignResult> {
  const { faults, faultsOfWorld, time, signal } = options
  const result: CampaignResult = { faults: [], verdicts: [], longestMs: 0 }
  const planned = plan(options.seed, options.only, options.topology)
  const until = performance.now() + time
  const more = (): boolean => result.faults.length < faults && performance.now() < until && !signal.aborted
  while (more()) {
    await using world = await World.start({ ...options, seed: options.seed + result.faults.length })
    onWorld?.(world)
    for (let made = 0, sound = true; made < faultsOfWorld && more() && sound; made += 1) {
      const done = await suffer(world, planned.next().value, result.faults.length + 1, options)
      result.faults.push(done)
      sound = done.recoveredMs < settleLimit
    }
    if (signal.aborted) break
    result.verdicts.push(await finish(world, options))
    result.longestMs = Math.max(result.longestMs, world.ledger.longest.ms)
  }
  return result
}

async function suffer(
  world: World,
  { fault, seed }: Planned,
  number: number,
  { say, faults, longest }: CampaignOptions,
): Promise<FaultResult> {
  const { ledger } = world
  const before = { stalled: ledger.stalled.size, foreign: ledger.foreign.length }
  const findings = world.findings.length
  const chance = new Draw(seed, longest)
  let did: string
  try {
    await fault.prepare?.(world, chance)
    ledger.disturb()
    world.faults.push({ name: fault.name, from: now() })
    did = await fault.run(world, chance)
  } catch (error) {
    did = `failed: ${(error as Error).stack}`
    world.findings.push(`${fault.name} failed: ${(error as Error).message}`)
  }
  ledger.heal()
  const { ms: recoveredMs, readyMs, last } = await settled(world)
  if (readyMs > ledger.stalledAfter)
    world.findings.push(`${fault.name}: not ready until ${Math.round(readyMs)} ms after it`)
  const stalled = ledger.stalled.size - before.stalled
  const foreign = ledger.foreign.length - before.foreign
  const passed = stalled === 0 && foreign === 0 && world.findings.length === findings
  const told = [
    `${number}/${faults} ${fault.name}: ${did}`,
    `recovered in ${(recoveredMs / 1000).toFixed(1)} s${recoveredMs > slow ? ` (${last})` : ''}`,
    ...(readyMs > slow ? [`ready after ${(readyMs / 1000).toFixed(1)} s`] : []),
    ...(stalled > 0 ? [`${stalled} STALLED`] : []),
    ...(foreign > 0 ? [`${foreign} FOREIGN`] : []),
  ]
  say(told.join(', '))
  return { fault: fault.name, seed, did, passed, recoveredMs, readyMs, last, stalled, foreign }
}

/** Ends the load, waits for what is left, and checks all of it. */
async function finish(world: World, { say }: CampaignOptions): Promise<Verdict> {
  const { ledger } = world
  await world.quiet()
  const began = now()
  while (ledger.outstanding.size > 0 && now() - began < settleLimit) await wait(100)
  // Followers read what came last.
  await wait(3_000)
  const verdict = await check(world)
  const wrong = faultsOf(verdict)
  const { acknowledged, inherent, again, runs, excused, silences, longestReadyMs } = verdict
  say(
    `checked: ${acknowledged} acknowledged, ${inherent} of them in lost windows, ${again} arrived again, ${runs} slow runs (${excused} excused), ` +
      `${silences} silences over 15 s (ready for ${(longestReadyMs / 1000).toFixed(1)} s at most), ` +
      `longest delay ${(ledger.longest.ms / 1000).toFixed(1)} s: ${wrong.length === 0 ? 'all as it should be' : wrong.join(', ')}`,
  )
  return verdict
}
