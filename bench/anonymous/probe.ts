// A worker that calls GET /healthz without a pause, so that the longest answer shows how long the service's event loop was held.
import { Agent, request } from 'node:http'
import { workerData } from 'node:worker_threads'

export interface ProbeData {
  readonly port: number
  /** Probes that ended, and microseconds of the longest since it was last set to 0. */
  readonly shared: Int32Array
}

const { port, shared } = workerData as ProbeData
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const probe = (): Promise<void> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, agent, path: '/healthz' }, (response) => {
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end()
  })

for (;;) {
  const began = performance.now()
  await probe()
  const took = Math.round((performance.now() - began) * 1_000)
  if (took > Atomics.load(shared, 1)) Atomics.store(shared, 1, took)
  Atomics.add(shared, 0, 1)
  Atomics.notify(shared, 0)
}
