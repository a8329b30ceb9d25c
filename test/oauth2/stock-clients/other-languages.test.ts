// Clients in Python and Go as they are: the program prints the address of the authorization request, gets the answer of the
// redirect URI, and prints what it learned from the id_token, userinfo and a renewal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onOneEngine } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'
import { goProgram, pythonProgram, run, type Program } from './programs.ts'

const redirectUri = 'https://web.example.com/callback'
const python = pythonProgram('client.py')
const clients: [name: string, program: Program, args: string[]][] = [
  ['Authlib with httpx', python, ['httpx']],
  ['Authlib with requests', python, ['requests']],
  ['go-oidc with golang.org/x/oauth2', goProgram('client'), []],
]

onOneEngine('clients in other languages', (engine) => {
  const stock = useStockService(engine)
  for (const [name, program, args] of clients) {
    const skip = 'missing' in program ? program.missing : false
    test(name, { skip }, async () => {
      if ('missing' in program) return
      const { service } = stock
      const client = run(program.command, [...args, service.baseUrl, 'web', webSecret, redirectUri])
      try {
        const start = new URL(await client.nextLine())
        const answer = await toApp(service, new Browser(), start, redirectUri)
        client.write(answer.href)
        const learned = JSON.parse(await client.nextLine()) as Record<string, unknown>
        assert.match(String(learned['sub']), /^[0-9a-f-]{36}$/)
        assert.deepEqual(
          [learned['email'], learned['sameUser'], learned['renewed']],
          ['ann@example.com', true, true],
        )
      } finally {
        client.stop()
      }
    })
  }
})
