import { setTimeout as wait } from 'node:timers/promises'
import { everywhere, last, type Fault } from './fault.ts'

/** Milliseconds from SIGTERM to the end: SHUTDOWN_DELAY, the limit of a stop, and what a busy machine adds. */
export const longestStop = 30_000

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
  async run({ processes, findings }, chance) {
    const times: number[] = []
    for (const process of processes) {
      const ms = await process.stop()
      if (ms > longestStop) findings.push(`SIGTERM took ${Math.round(ms)} ms`)
      times.push(ms)
      await wait(chance.ms(0, 500))
      await process.start()
    }
    return `stopped in ${times.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(', ')}`
  },
}

export const processFaults: readonly Fault[] = [kill, pause, rolling]
