// A process that takes any POST and answers 200 at once, over raw sockets: as little work as a receiver can do. It tells
// when the first and the last request came, and shows the last one.
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { answer, ready } from '../harness/child-process.ts'

/** What came since the last question. Times are milliseconds since 1970, finer than whole ones. */
export interface Sunk {
  count: number
  distinct: number
  firstAt: number
  lastAt: number
  last: { head: string; body: string }
  /** When each request came, by its path and id, if that was asked for. */
  each?: Record<string, number>
  /** Requests that wait for an answer that never comes. */
  hanging: number
}

export interface Expectation {
  /** Answers when so many distinct ids have come, counted per path, or after `limit` milliseconds. */
  distinct: number
  limit: number
  each?: boolean
  /** Closes the connections of those that hang, when it has answered. */
  release?: boolean
}

const response = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
const headEnd = '\r\n\r\n'
/** When each first came. */
let ids = new Map<string, number>()
let [count, firstAt, lastAt] = [0, 0, 0]
let last = { head: '', body: Buffer.alloc(0) as Buffer }
let expected = Number.POSITIVE_INFINITY
let onExpected: (() => void) | undefined
const hanging = new Set<Socket>()

function take(head: string, body: Buffer): void {
  lastAt = performance.timeOrigin + performance.now()
  if (count === 0) firstAt = lastAt
  count += 1
  last = { head, body }
  const path = head.slice(0, head.indexOf(' HTTP/'))
  const id = `${path.slice(path.indexOf('/'))} ${/\r\nwebhook-id: *(\S+)/i.exec(head)?.[1] ?? count}`
  if (!ids.has(id)) ids.set(id, lastAt)
  if (ids.size >= expected) onExpected?.()
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = readAll(socket, rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk)
  })
  // A client that leaves in the middle is no matter here: what counts is what came.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => hanging.delete(socket))
})

/** Answers every complete request and returns what is left. */
function readAll(socket: Socket, data: Buffer): Buffer {
  for (;;) {
    const end = data.indexOf(headEnd)
    if (end < 0) return data
    const head = data.toString('latin1', 0, end)
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    const total = end + headEnd.length + length
    if (data.length < total) return data
    if (head.startsWith('POST /hang')) {
      // Taken, and never answered; it does not count.
      hanging.add(socket)
      data = data.subarray(total)
      continue
    }
    take(head, data.subarray(end + headEnd.length, total))
    socket.write(response)
    data = data.subarray(total)
  }
}

const plain = ({ head, body }: typeof last): Buffer =>
  /\r\ncontent-encoding: *gzip/i.test(head) ? gunzipSync(body) : body

answer(async ({ distinct, limit, each, release }: Expectation): Promise<Sunk> => {
  if (ids.size < distinct) {
    await new Promise<void>((resolve) => {
      expected = distinct
      onExpected = resolve
      setTimeout(resolve, limit).unref()
    })
  }
  const sunk = {
    count,
    distinct: ids.size,
    firstAt,
    lastAt,
    last: { head: last.head, body: plain(last).toString() },
    ...(each && { each: Object.fromEntries(ids) }),
    hanging: hanging.size,
  }
  if (release) for (const socket of hanging) socket.destroy()
  ids = new Map()
  count = 0
  expected = Number.POSITIVE_INFINITY
  return sunk
})

server.listen(0, '127.0.0.1', () => ready({ port: (server.address() as AddressInfo).port }))
