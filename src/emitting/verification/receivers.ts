import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeFolder } from '../../code-folder.ts'

/** A program that receives and verifies webhooks. Each template is a file of its own in `templates/`. */
interface Receiver {
  /** A stable name, which is also the name of the template. */
  id: string
  /** The language, as people write it. */
  name: string
  /** The name under which the code is saved. */
  file: string
}

/** In the order in which they are offered. */
const languages: readonly Receiver[] = [
  { id: 'typescript', name: 'TypeScript', file: 'receive.ts' },
  { id: 'python', name: 'Python', file: 'receive.py' },
  { id: 'go', name: 'Go', file: 'receive.go' },
  { id: 'ruby', name: 'Ruby', file: 'receive.rb' },
  { id: 'php', name: 'PHP', file: 'receive.php' },
  { id: 'java', name: 'Java', file: 'Receive.java' },
  { id: 'csharp', name: 'C#', file: 'Program.cs' },
  { id: 'rust', name: 'Rust', file: 'src/main.rs' },
  { id: 'curl', name: 'curl and openssl', file: 'webhook.sh' },
]

const templates = new Map<string, string>()

/**
 * The receivers for an address, complete programs. They verify `v1` signatures (HMAC-SHA256) over the raw body with a comparison in
 * constant time, accept any of several signatures, and refuse timestamps that differ from now by more than five minutes.
 * @param prefix the prefix of the signature headers
 */
export function receiversFor(url: string, prefix: 'webhook' | 'svix'): (Receiver & { code: string })[] {
  const { href, pathname } = new URL(url)
  return languages.map(({ id, name, file }) => {
    const code = templateOf(id)
      .replaceAll(/webhook(?=-(?:id|timestamp|signature)\b)/g, prefix)
      .replaceAll('HTTP_WEBHOOK_', `HTTP_${prefix.toUpperCase()}_`)
      .replaceAll('{{url}}', () => harmless(href))
      .replaceAll('{{path}}', () => harmless(pathname))
    return { id, name, file, code }
  })
}

/** In the languages above, these characters could end a text or a comment, or begin an escape. A URL means the same without them. */
function harmless(text: string): string {
  return text.replace(/['\\$`]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

function templateOf(id: string): string {
  let template = templates.get(id)
  if (template === undefined) {
    template = readFileSync(join(codeFolder, `emitting/verification/templates/${id}.txt`), 'utf8')
    templates.set(id, template)
  }
  return template
}
