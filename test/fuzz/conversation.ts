// One connection: what is sent over it, in which pieces, and how the client ends it.
import { connect } from 'node:net'
import { makeCall } from './calls.ts'
import type { Chance } from '../harness/chance.ts'
import { afterRunning } from '../harness/running-time.ts'
import { write } from './written.ts'

export interface Conversation {
  readonly pieces: readonly Buffer[]
  /** How many calls are in it. */
  readonly inputs: number
  /** Read all answers and wait for the server to close, cut after some pieces, or never read. */
  readonly manner: 'patient' | 'half-open' | 'cut' | 'deaf'
}

export interface Heard {
  /** All that came back, as Latin-1. */
  readonly text: string
  /** Whether the server, or the client where that was its manner, ended the connection in time. */
  readonly ended: boolean
  /** Whether it took another request to have the connection ended: all that was sent had been answered, or lost. */
  readonly nudged: boolean
}

/** After it the server closes, unless it takes this for a part of something before: then it has to give up in time. */
const last = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'

/** One to eight calls, one behind the other. */
export function makeConversation(chance: Chance, name: string): Conversation {
  const inputs = 1 + chance.below(8)
  const calls = Array.from({ length: inputs }, (_, index) =>
    write(chance, makeCall(chance, `${name}-${index}`)),
  )
  const bytes = Buffer.concat([...calls, Buffer.from(last)])
  const kind = chance.below(100)
  const manner = kind < 90 ? 'patient' : kind < 92 ? 'half-open' : kind < 98 ? 'cut' : 'deaf'
  const pieces: Buffer[] = []
  const splits = chance.is(0.5) ? 0 : chance.below(12)
  let rest = bytes
  for (let split = 0; split < splits && rest.length > 1; split += 1) {
    const at = 1 + chance.below(chance.is(0.5) ? Math.min(rest.length - 1, 30) : rest.length - 1)
    pieces.push(rest.subarray(0, at))
    rest = rest.subarray(at)
  }
  pieces.push(rest)
  return {
    pieces: manner === 'cut' ? pieces.slice(0, 1 + chance.below(pieces.length)) : pieces,
    inputs,
    manner,
  }
}

/** Milliseconds between two attempts to write to a server that has ended its side. */
const askAgain = 250
/**
 * Milliseconds until the last request is sent once more. A broken body may have swallowed it but for its last empty
 * lines, which are no request; the service would rightly wait for one until its keep-alive ends.
 */
const nudgeAfter = 4_000
/** Milliseconds that a client that reads nothing stays. */
const deafFor = 300

/** Has the conversation. Does not fail: what the server does is in what was heard. */
export function converse(port: number, { pieces, manner }: Conversation, limit: number): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: manner === 'half-open' })
    let text = ''
    let nudged = false
    const cancels = new Set<() => void>()
    const end = (ended: boolean): void => {
      for (const cancel of cancels) cancel()
      socket.destroy()
      resolve({ text, ended, nudged })
    }
    const later = (ms: number, what: () => void): void => void cancels.add(afterRunning(ms, what))
    later(limit, () => end(false))
    // The server may well close while we write.
    socket.on('error', () => undefined)
    socket.on('close', () => end(true))
    // Who keeps his own side open learns only by writing that the other has closed both.
    if (manner === 'half-open')
      socket.on('end', () => {
        const asking = setInterval(() => socket.write('\r\n'), askAgain)
        cancels.add(() => clearInterval(asking))
      })
    if (manner !== 'deaf') socket.setEncoding('latin1').on('data', (part: string) => (text += part))
    else later(deafFor, () => end(true))
    let next = 0
    const send = (): void => {
      if (socket.destroyed) return
      const piece = pieces[next++]
      if (piece === undefined) {
        if (manner === 'cut') socket.resetAndDestroy()
        else
          later(nudgeAfter, () => {
            nudged = true
            socket.write(last)
          })
      } else socket.write(piece, () => setImmediate(send))
    }
    socket.on('connect', send)
  })
}

/**
 * The first answer that may not be: a 5xx, except a 503 that tells when to come again. Nothing that is sent has a status
 * line in it, so that none of them is an echo.
 */
export function wrongAnswer(text: string): string | undefined {
  for (const { 0: line, 1: status, index } of text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n/g)) {
    const head = text.slice(index, text.indexOf('\r\n\r\n', index) + 4)
    if (Number(status) < 500 || (status === '503' && /\r\nretry-after: \d+\r\n/i.test(head))) continue
    return `${line}${text.slice(index + line.length, index + 2_000)}`
  }
  return undefined
}
