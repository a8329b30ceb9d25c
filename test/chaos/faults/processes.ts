import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../receiving/harness.ts'
import { everywhere, last, type Fault } from './fault.ts'
import { stop } from './replace.ts'

/** Milliseconds without a failed request after which what fails is not left over from a fault before. */
const calm = 10_000

const kill: Fault = {
  name: 'kill',
  topologies: everywhere,
  async run({ processes }, chance) {
    const victim = chance.pick(processes)
    await victim.kill()
    const away = await last(chance.ms(0, 4_000))
    await victim.start()
    return `away for ${away}`
  },
}

const pause: Fault = {
  name: 'pause',
  topologies: everywhere,
  async run({ processes }, chance) {
    const victim = chance.pick(processes)
    victim.pause()
    try {
      return await last(chance.ms(1_000, 20_000))
    } finally {
      victim.resume()
    }
  },
}

const rolling: Fault = {
  name: 'rolling',
  topologies: everywhere,
  prepare: ({ demands }) =>
    eventually(() => demands.calm > calm, 'no request fails', 60_000).then(() => undefined),
  async run(world, chance) {
    const { processes, demands } = world
    const times: string[] = []
    world.balanced = true
    const end = demands.begin('rolling', ['webhook', 'event', 'page'])
    try {
      for (const process of processes) {
        times.push(await stop(world, process))
        await wait(chance.ms(0, 500))
        await process.start()
      }
    } finally {
      end()
      world.balanced = false
    }
    return `stopped in ${times.join(', ')}`
  },
}

const stopInSilence: Fault = {
  name: 'silence-stop',
  topologies: everywhere,
  async run(world, chance) {
    const victim = chance.pick(world.processes)
    const held = chance.is(0.5)
    if (held) victim.link.hold()
    else victim.link.silence('new')
    let told: string
    try {
      const before = await last(chance.ms(0, 20_000))
      told = `${held ? 'held' : 'silent'} for ${before}, then stopped in ${await stop(world, victim)}`
    } finally {
      victim.link.mend()
    }
    await victim.start()
    return told
  },
}

export const processFaults: readonly Fault[] = [kill, pause, rolling, stopInSilence]
