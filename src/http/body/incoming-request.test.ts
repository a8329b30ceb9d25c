import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { IncomingRequest } from './reader.ts'
import { each } from '#test/harness/fields.ts'

/** What became of a body: its pieces, and how it ended. */
class Recorder {
  readonly pieces: string[] = []
  readonly ends: string[] = []
  data(piece: Buffer): void {
    this.pieces.push(piece.toString())
  }
  end(): void {
    this.ends.push('end')
  }
  cut(): void {
    this.ends.push('cut')
  }
}

describe('a request whose body goes past the stream', () => {
  let handle: (request: IncomingRequest, response: ServerResponse) => void
  const server = createServer({ IncomingMessage: IncomingRequest }, (request, response) =>
    handle(request, response),
  )
  const answers: string[] = []
  let socket: Socket

  beforeEach(async () => {
    if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
    answers.length = 0
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.setEncoding('latin1').on('data', (text: string) => answers.push(text))
    socket.on('error', () => undefined)
    await once(socket, 'connect')
  })
  afterEach(() => socket.destroy())
  after(() => server.close())

  const post = (length: number): string => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`
  const text = (): string => answers.join('')
  const until = async (holds: () => boolean, what: string): Promise<void> => {
    for (let turn = 0; turn < 2_000 && !holds(); turn += 1)
      await new Promise((resolve) => setTimeout(resolve, 1))
    assert.ok(holds(), what)
  }

  test('comes piece by piece, and the connection is used again', async () => {
    const bodies: Recorder[] = []
    handle = (request, response) => {
      const body = new Recorder()
      bodies.push(body)
      const given = request.giveBody({
        data: (piece) => body.data(piece),
        end: () => {
          body.end()
          assert.equal(request.readableEnded, true, 'nobody is still to read it')
          response.end(`has ${body.pieces.join('')}`)
        },
        cut: () => body.cut(),
      })
      assert.equal(given, true)
    }
    socket.write(`${post(6)}abc`)
    await until(() => bodies[0]?.pieces.length === 1, 'the first piece')
    socket.write(`def${post(1)}x`)
    await until(() => text().includes('has abcdef') && text().includes('has x'), 'both answers')
    assert.deepEqual(bodies[0]!.pieces, ['abc', 'def'])
    assert.deepEqual(each(bodies, 'ends'), [['end'], ['end']])
  })

  test('several requests in one packet, chunks, and none at all', async () => {
    const bodies: Recorder[] = []
    handle = (request, response) => {
      const body = new Recorder()
      bodies.push(body)
      request.giveBody({
        data: (piece) => body.data(piece),
        end: () => {
          body.end()
          response.end(`has ${body.pieces.join('')}.`)
        },
        cut: () => body.cut(),
      })
    }
    const chunked =
      'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n'
    socket.write(post(1) + '1' + chunked + 'POST / HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(() => text().split('HTTP/1.1 200').length === 4, 'three answers')
    assert.deepEqual(
      bodies.map(({ pieces }) => pieces.join('')),
      ['1', 'abc', ''],
    )
    assert.ok(bodies.every(({ ends }) => ends.length === 1 && ends[0] === 'end'))
  })

  test('a sender that leaves in the middle: it is cut, once', async () => {
    const body = new Recorder()
    let closed = false
    handle = (request) => {
      request.giveBody(body)
      request.on('close', () => (closed = true))
    }
    socket.write(`${post(6)}abc`)
    await until(() => body.pieces.length === 1, 'the first piece')
    socket.destroy()
    await until(() => closed, 'the request is closed')
    assert.deepEqual(body.ends, ['cut'])
  })

  test('a sender that leaves when all has come: it was not cut, and is closed all the same', async () => {
    const body = new Recorder()
    let [closed, aborted] = [false, false]
    handle = (request) => {
      request.giveBody(body)
      request.on('close', () => (closed = true)).on('aborted', () => (aborted = true))
    }
    socket.write(`${post(3)}abc`)
    await until(() => body.ends.length === 1, 'all of it')
    socket.destroy()
    await until(() => closed, 'the request is closed')
    assert.deepEqual([body.ends, aborted], [['end'], false])
  })

  test('answered before all has come: the rest is passed over, and the next request is read', async () => {
    const first = new Recorder()
    let count = 0
    handle = (request, response) => {
      count += 1
      request.giveBody(first)
      response.end(`answer ${count}`)
    }
    socket.write(`${post(6)}abc`)
    await until(() => text().includes('answer 1'), 'the first answer')
    socket.write(`def${post(0)}`)
    await until(() => text().includes('answer 2'), 'the second answer')
  })

  test('the stream keeps what it has a part of', async () => {
    let read = ''
    let given: boolean | undefined
    handle = (request, response) => {
      setTimeout(() => {
        given = request.giveBody(new Recorder())
        request.setEncoding('utf8').on('data', (piece: string) => (read += piece))
        request.on('end', () => response.end())
      }, 5)
    }
    socket.write(`${post(3)}abc`)
    await until(() => text().includes('200'), 'the answer')
    assert.deepEqual([given, read], [false, 'abc'])
  })

  test('it is given once, and not when the sender has left', async () => {
    let again: boolean | undefined
    let late: boolean | undefined
    handle = (request) => {
      request.giveBody(new Recorder())
      again = request.giveBody(new Recorder())
      request.on('close', () => (late = request.giveBody(new Recorder())))
    }
    socket.write(post(3))
    await until(() => again !== undefined, 'the request')
    socket.destroy()
    await until(() => late !== undefined, 'the request is closed')
    assert.deepEqual([again, late], [false, false])
  })
})
