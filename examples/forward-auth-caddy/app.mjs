// An application without OpenID Connect: it reads the user from the proxy's headers.
import { createServer } from 'node:http'

const decoded = (value) => decodeURIComponent(value ?? '')
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const server = createServer(({ url = '/', headers }, response) => {
  const name = decoded(headers['remote-name'])
  const email = decoded(headers['remote-email']) || 'no verified address'
  if (url === '/health') return response.end('ok\n')
  // The request did not come through the proxy.
  if (!headers['remote-user']) return response.writeHead(401).end()
  response.setHeader('content-type', 'text/html; charset=utf-8')
  return response.end(`<!doctype html><title>Wiki</title>
<p>You are ${escaped(name)} (${escaped(email)}).</p>
<p>You are at ${escaped(url)}.</p>
`)
})
// Reachable from this machine only, so that every request comes through the proxy.
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () =>
  console.log(`The application listens at port ${server.address().port}`),
)
