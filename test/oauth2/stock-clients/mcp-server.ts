import { createServer } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { claimsOf, requireToken } from '../../../packages/client/src/adapters/express.ts'
import { createProtectedResource, type ProtectedResource } from '../../../packages/client/src/resource.ts'
import { listening } from '../../harness/listening.ts'

export interface McpServer {
  /** Its address, which is the audience of its tokens. */
  url: string
  resource: ProtectedResource
  close(): Promise<void>
}

/**
 * An MCP server with one tool, `whoami`, which names the user and the app of the access token. It verifies tokens with the client
 * package and knows nothing of the service but its issuer.
 * @param issuer read at the first request: the service starts later, because its settings name this server
 */
export async function startMcpServer(issuer: () => string): Promise<McpServer> {
  let made: ProtectedResource | undefined
  const resource = (): ProtectedResource =>
    (made ??= createProtectedResource({
      resource: url,
      issuer: issuer(),
      scopes: ['mcp:tools'],
      name: 'Orders',
    }))
  const server = createServer((request, response) => {
    resource().serve(request, response, () => {
      if (request.url !== '/mcp') {
        response.writeHead(404).end()
        return
      }
      requireToken(resource(), { scope: 'mcp:tools' })(request, response, () => {
        const { sub, client_id: app } = claimsOf(request)
        const transport = new StreamableHTTPServerTransport({})
        void toolsFor(sub, app)
          .connect(transport as never)
          .then(() => transport.handleRequest(request, response))
      })
    })
  })
  const opened = await listening(server)
  const url = `${opened.url}/mcp`
  return {
    url,
    get resource() {
      return resource()
    },
    close: opened.close,
  }
}

function toolsFor(sub: string, app: string): Server {
  const server = new Server({ name: 'orders', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{ name: 'whoami', inputSchema: { type: 'object' as const } }],
  }))
  server.setRequestHandler(CallToolRequestSchema, async () => ({
    content: [{ type: 'text' as const, text: `${sub} with ${app}` }],
  }))
  return server
}
