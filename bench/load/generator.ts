// A process that makes load over raw sockets: requests are bytes that were made before, responses are looked at only as
// far as their status and length, so that one request costs it far less than it costs any server.
import { connect, type Socket } from 'node:net'
import { answer, ready } from '../harness/child-process.ts'
import { percentile } from '../measure/statistics.ts'
import type { Load, LoadResult } from './load.ts'
import { makeRequests } from './requests.ts'
import { ResponseReader } from './response-reader.ts'

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

class Connection {
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  #resolve: ((status: string) => void) | undefined
  #reject: ((error: Error) => void) | undefined

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(port, () => resolve(connection), reject)
    })
  }

  private constructor(port: number, onOpen: () => void, onError: (error: Error) => void) {
    const buffer = Buffer.allocUnsafe(64 * 1024)
    // onread: one buffer for all that comes on the connection, and no stream around it.
    const onread = { buffer, callback: (size: number) => this.#take(buffer.subarray(0, size)) }
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread }, onOpen)
    this.#socket.on('error', (error) => {
      onError(error)
      this.#reject?.(error)
    })
    this.#socket.on('close', () => this.#reject?.(new Error('the server closed a connection')))
  }

  call(request: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): boolean {
    try {
      const status = this.#reader.read(chunk)
      if (status !== undefined) this.#resolve?.(status)
    } catch (error) {
      this.#reject?.(error as Error)
    }
    return true
  }
}

ready()
