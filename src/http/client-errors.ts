import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Problem, type ProblemCode } from '../errors.ts'
import { problemBody } from './problem-details.ts'

const codes: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** Milliseconds that a client has to read its last answer: closed at once, with bytes of its own unread, it may not get it. */
const lastWords = 2_000

/** Answers what never became a request: broken HTTP, headers too large or too slow. */
export function answerClientErrors(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem = new Problem(codes[error.code ?? ''] ?? 'bad-request')
  const body = JSON.stringify(problemBody(problem, randomUUID()))
  socket.end(
    `HTTP/1.1 ${problem.status} ${problem.code}\r\ncontent-type: application/problem+json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // A client that does not close its side would keep the connection for as long as it likes.
  const timer = setTimeout(() => socket.destroy(), lastWords)
  socket.once('close', () => clearTimeout(timer))
}
