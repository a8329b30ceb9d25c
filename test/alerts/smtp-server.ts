import { createServer } from 'node:net'
import { listening } from '../harness/listening.ts'

export interface Mail {
  from: string
  to: string[]
  /** Headers and body as they came. */
  data: string
}

export interface SmtpServer {
  url: string
  mails: Mail[]
  /** What it answers to the next message instead of accepting it. */
  refuseNext(answer: string): void
  close(): Promise<void>
}

/** A mail server on a loopback port, which speaks as much of RFC 5321 as a sender without TLS needs. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: Mail[] = []
  let refusal: string | undefined
  const server = createServer((socket) => {
    const say = (line: string): void => void socket.write(`${line}\r\n`)
    let mail: Mail = { from: '', to: [], data: '' }
    let reading = false
    let rest = ''
    const take = (line: string): void => {
      if (reading) {
        if (line !== '.') {
          mail.data += `${line.startsWith('..') ? line.slice(1) : line}\n`
          return
        }
        reading = false
        if (refusal === undefined) {
          mails.push(mail)
          say('250 accepted')
        } else say(refusal)
        refusal = undefined
        mail = { from: '', to: [], data: '' }
        return
      }
      const [verb = ''] = line.split(' ')
      const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
      if (verb === 'EHLO') {
        say('250-here')
        say('250 8BITMIME')
      } else if (verb === 'MAIL') {
        mail.from = address
        say('250 ok')
      } else if (verb === 'RCPT') {
        mail.to.push(address)
        say('250 ok')
      } else if (verb === 'DATA') {
        reading = true
        say('354 go on')
      } else if (verb === 'QUIT') {
        say('221 bye')
        socket.end()
      } else say('250 ok')
    }
    socket.on('data', (bytes: Buffer) => {
      const lines = (rest + bytes.toString()).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) take(line)
    })
    socket.on('error', () => socket.destroy())
    say('220 here')
  })
  const { port, close } = await listening(server)
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuseNext: (answer) => void (refusal = answer),
    close,
  }
}
