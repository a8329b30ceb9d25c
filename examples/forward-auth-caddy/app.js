// An application that knows nothing of OpenID Connect: it reads who the person is from the headers of the proxy.
import { createServer } from 'node:http'

const decoded = (value) => decodeURIComponent(value ?? '')
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const server = createServer(({ url = '/', headers }, response) => {
  const user = headers['remote-user']
  const email = decoded(headers['remote-email']) || 'no verified address'
  if (url === '/health') {
    response.end('ok\n')
  } else if (user) {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<!doctype html><title>Wiki</title>
<p>You are ${escaped(decoded(headers['remote-name']))} (${escaped(email)}).</p>
<p>You are at ${escaped(url)}.</p>
`)
  } else {
    // The request did not come through the proxy.
    response.writeHead(401).end()
  }
})
// Reachable from this machine only, so that every request comes through the proxy.
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () =>
  console.log(`The application listens at port ${server.address().port}`),
)
