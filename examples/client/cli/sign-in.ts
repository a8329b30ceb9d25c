// A command line that signs a person in: `POSTERN_URL=https://gate.example.com node sign-in.ts`
import { deviceSignIn } from 'postern-client/device'
import { createSessions } from 'postern-client/session'

const url = process.env['POSTERN_URL'] ?? 'http://127.0.0.1:3000'
const control = new AbortController()
process.once('SIGINT', () => control.abort(new Error('interrupted')))

const { accessToken } = await deviceSignIn({
  url,
  clientId: process.env['CLIENT_ID'] ?? 'cli',
  scope: 'openid profile email',
  signal: control.signal,
  onCode: ({ userCode, verificationUri }) => console.log(`Open ${verificationUri} and enter ${userCode}`),
})
const { user } = await createSessions({ url }).requireUser(
  new Headers({ authorization: `Bearer ${accessToken}` }),
)
console.log(`Signed in as ${user.name ?? user.email ?? user.id}`)
