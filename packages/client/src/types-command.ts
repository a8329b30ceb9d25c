#!/usr/bin/env node
// `npx postern-client https://gate.example.com > calls.ts`: the types of a service's calls, those of its declared lists included.
import { errorOfResponse } from './errors.ts'
import { addressOf, readObject, send } from './http.ts'
import { typesOf, type OpenApiDocument } from './types-of.ts'

interface Process {
  argv: string[]
  env: Record<string, string | undefined>
  exitCode: number
  stdout: { write(text: string): void }
  stderr: { write(text: string): void }
}

const { process } = globalThis as unknown as { process: Process }
const [url] = process.argv.slice(2)

async function read(response: Response): Promise<OpenApiDocument> {
  if (response.status !== 200) throw await errorOfResponse(response)
  return readObject(response)
}

if (url === undefined || !/^https?:\/\//.test(url)) {
  process.stderr.write(
    'usage: postern-client URL > calls.ts\nPOSTERN_TOKEN is the API key, where the API reference is private.\n',
  )
  process.exitCode = 2
} else {
  const token = process.env['POSTERN_TOKEN']
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  try {
    process.stdout.write(
      typesOf(await send(addressOf(url, '/openapi.json'), { headers }, { timeout: 30_000 }, read)),
    )
  } catch (error) {
    process.stderr.write(`${String(error)}\n`)
    process.exitCode = 1
  }
}
