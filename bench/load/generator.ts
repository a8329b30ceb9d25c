// A process that makes load over raw sockets: requests are bytes that were made before, responses are looked at only as
// far as their status and length, so that one request costs it far less than it costs any server.
import { answer, ready } from '../harness/child-process.ts'
import { percentile } from '../measure/outcome.ts'
import { Connection } from './connection.ts'
import type { Load, LoadResult } from './load.ts'
import { makeRequests } from './requests.ts'

answer(async (load: Load): Promise<LoadResult> => {
  const requests = makeRequests(load)
  const latencies = new Uint32Array(requests.length)
  const statuses: Record<string, number> = {}
  const sockets: Connection[] = []
  try {
    for (let index = 0; index < Math.min(load.connections, requests.length); index += 1) {
      sockets.push(await Connection.open(load.port))
    }
    let next = 0
    const drive = async (connection: Connection): Promise<void> => {
      for (let index = next++; index < requests.length; index = next++) {
        const began = performance.now()
        const status = await connection.call(requests[index]!)
        latencies[index] = (performance.now() - began) * 1000
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    }
    const cpu = process.cpuUsage()
    const began = performance.now()
    await Promise.all(sockets.map(drive))
    const seconds = (performance.now() - began) / 1000
    const { user, system } = process.cpuUsage(cpu)
    latencies.sort()
    return {
      seconds,
      perSecond: requests.length / seconds,
      p50: percentile(latencies, 0.5) / 1000,
      p99: percentile(latencies, 0.99) / 1000,
      statuses,
      generatorCpu: (user + system) / 1e6 / seconds,
    }
  } finally {
    for (const connection of sockets) connection.close()
  }
})

ready()
