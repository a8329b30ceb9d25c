import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem, type ProblemCode } from '../../errors.ts'
import { problemBody, problemMediaType } from '../problem-details.ts'

const codes: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** Milliseconds that a client has to read its last answer: closed at once, with bytes of its own unread, it may not get it. */
const lastWords = 2_000

/** Node's answer in progress on a connection, which its own handler of these errors asks for as well. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * Makes what answers whatever never became a request: broken HTTP, headers too large or too slow.
 * @param headers of every answer, as names and values in turn
 */
export function clientErrorAnswerer(
  headers: readonly string[],
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  let common = ''
  for (let at = 0; at < headers.length; at += 2) common += `${headers[at]}: ${headers[at + 1]}\r\n`
  return (error, socket: ServerSocket) => {
    // Behind the beginning of another answer it would be read as a part of that.
    if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
      socket.destroy()
      return
    }
    const problem = new Problem(codes[error.code ?? ''] ?? 'bad-request')
    const body = JSON.stringify(problemBody(problem, randomUUID()))
    socket.end(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${common}content-type: ${problemMediaType}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    // A client that does not close its side would keep the connection for as long as it likes.
    const timer = setTimeout(() => socket.destroy(), lastWords)
    socket.once('close', () => clearTimeout(timer))
  }
}
