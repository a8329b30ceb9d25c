// A connection pooler that gives its clients another session of the server for each transaction, as PgBouncer does with
// pool_mode = transaction: https://www.pgbouncer.org/features.html. As little of one as tests need: no passwords, no TLS.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import pg from 'pg'

export interface Pooler {
  /** The database's address by way of the pooler. */
  readonly url: string
  /** Statements that came, and that need a session or were prepared under a name. A real pooler does not tell them. */
  readonly misplaced: readonly string[]
  close(): Promise<void>
}

export interface PoolerOptions {
  /** Sessions of the server. Default 3. */
  sessions?: number
  /** Which idle session is given out: the one that was given back `last`, or each in its `turn`. Default `last`. */
  order?: 'last' | 'turn'
}

/** A session of the server, past its sign-in. */
interface ServerSession {
  readonly client: pg.Client
  readonly socket: Socket
}

const startup = 196_608
const sslRequest = 80_877_103

/** What a session must remember. Statements that bring a connection back to its defaults need none. */
const needsSession =
  /^\s*(?:un)?listen\b|pg_(?:try_)?advisory_(?:un)?lock(?!_all\()|(?:^|;)\s*set\s+(?!local\b|session authorization default\b)/i

/** AuthenticationOk, and ReadyForQuery outside a transaction. */
const greeting = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

export async function startTransactionPooler(target: string, options: PoolerOptions = {}): Promise<Pooler> {
  const { sessions = 3, order = 'last' } = options
  const idle: ServerSession[] = []
  const waiting: ((session: ServerSession) => void)[] = []
  const all = new Set<pg.Client>()
  const clients = new Set<Socket>()
  const misplaced: string[] = []
  let closing = false

  const give = (session: ServerSession): void => {
    const next = waiting.shift()
    if (next) next(session)
    else idle.push(session)
  }
  const take = async (): Promise<ServerSession> =>
    (order === 'last' ? idle.pop() : idle.shift()) ?? new Promise((resolve) => waiting.push(resolve))
  async function open(): Promise<void> {
    const client = new pg.Client({ connectionString: target })
    // What goes wrong is told to the client whose session it is, by its end.
    client.on('error', () => undefined)
    await client.connect()
    all.add(client)
    const socket = client.connection.stream as Socket
    socket.removeAllListeners('data')
    give({ client, socket })
  }
  async function replace({ client, socket }: ServerSession): Promise<void> {
    all.delete(client)
    socket.destroy()
    if (!closing) await open()
  }

  async function serve(near: Socket): Promise<void> {
    let session: ServerSession | undefined
    /** Answers that end with ReadyForQuery, and have not come. */
    let expected = 0
    const onAnswer = answersTo(near, (status) => {
      expected -= 1
      if (status !== 'I' || expected > 0 || !session) return
      session.socket.off('data', onAnswer).off('close', onLoss)
      give(session)
      session = undefined
    })
    const onLoss = (): void => void near.destroy()
    for await (const message of messages(near)) {
      if (message[0] === 0x58 /* Terminate */) break
      if (!session) {
        session = await take()
        session.socket.on('data', onAnswer).on('close', onLoss)
      }
      if (message[0] === 0x51 /* Query */ || message[0] === 0x53 /* Sync */) expected += 1
      const [name, text] = statementOf(message)
      if (name !== '' || needsSession.test(text)) misplaced.push(`${name} ${text}`)
      session.socket.write(message)
    }
    near.end()
    if (!session) return
    session.socket.off('data', onAnswer).off('close', onLoss)
    await replace(session)
  }

  await Promise.all(Array.from({ length: sessions }, open))
  const server = createServer((near) => {
    clients.add(near)
    near.on('error', () => near.destroy()).on('close', () => clients.delete(near))
    // A client that breaks off ends the reading of its messages with an error, and that is all there is to it.
    serve(near).catch(() => near.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    misplaced,
    async close() {
      closing = true
      for (const near of clients) near.destroy()
      server.close()
      for (const client of all) (client.connection.stream as Socket).destroy()
    },
  }
}

/** What a client sends, message by message, behind its sign-in, which is answered here. */
async function* messages(near: Socket): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let begun = false
  for await (const chunk of near as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const end = endOf(rest, begun ? 1 : 0)
      if (end === undefined) break
      const message = rest.subarray(0, end)
      rest = rest.subarray(end)
      if (begun) yield message
      else if (message.readInt32BE(4) === sslRequest) near.write('N')
      else if (message.readInt32BE(4) === startup) begun = near.write(greeting) || true
    }
  }
}

/** Of a message that brings a statement, its name and its text. */
function statementOf(message: Buffer): [name: string, text: string] {
  const strings = message.toString('latin1', 5).split('\0')
  if (message[0] === 0x51 /* Query */) return ['', strings[0]!]
  return message[0] === 0x50 /* Parse */ ? [strings[0]!, strings[1]!] : ['', '']
}

/** Hands on what the server sends, and tells of each ReadyForQuery with the state of the transaction. */
function answersTo(near: Socket, ready: (status: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    near.write(chunk)
    rest = Buffer.concat([rest, chunk])
    for (let end = endOf(rest, 1); end !== undefined; end = endOf(rest, 1)) {
      const [type, status] = [rest[0], rest[5]]
      rest = rest.subarray(end)
      if (type === 0x5a) ready(String.fromCharCode(status!))
    }
  }
}

/** Where the first message ends, if it is there whole; its length stands behind so many bytes. */
function endOf(bytes: Buffer, before: number): number | undefined {
  if (bytes.length < before + 4) return undefined
  const end = before + bytes.readInt32BE(before)
  return bytes.length < end ? undefined : end
}
