// Records a running Svix server's responses for calls.test.ts: SVIX_URL=http://127.0.0.1:8071 SVIX_TOKEN=... node test/emitting/svix/record.ts
// The server must allow connections to 127.0.0.0/8, be empty, and retry after an hour (SVIX_WHITELIST_SUBNETS, SVIX_RETRY_SCHEDULE).
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSvixReceiver } from './receiver.ts'
import { runCalls } from './run-calls.ts'

await using receiver = await startSvixReceiver()
const answers = await runCalls({
  url: process.env['SVIX_URL']!,
  token: process.env['SVIX_TOKEN']!,
  receiver: receiver.url,
})
const lines = answers.map((answer) => `${JSON.stringify(answer)}\n`)
writeFileSync(join(import.meta.dirname, 'answers.jsonl'), lines.join(''))
console.log(`${answers.length} answers`)
