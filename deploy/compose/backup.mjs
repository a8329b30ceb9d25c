// Runs `postern backup` at once and then again and again: node backup.mjs FOLDER HOURS KEEP
// A file appears in the folder only when it is complete. The oldest are removed, so that KEEP remain.
import { spawnSync } from 'node:child_process'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const [folder, hours, keep] = process.argv.slice(2)
const partial = join(folder, '.partial')

function backUp() {
  rmSync(partial, { force: true })
  const { status } = spawnSync('postern', ['backup', partial], { stdio: 'inherit' })
  // The service's log and the missing file tell that it failed; the next one is tried at its time.
  if (status !== 0) return
  renameSync(partial, join(folder, `postern-${new Date().toISOString().replaceAll(':', '')}.db`))
  const complete = readdirSync(folder).filter((name) => name.startsWith('postern-'))
  for (const name of complete.toSorted().slice(0, -Number(keep))) rmSync(join(folder, name))
}

// The first process of a container ignores signals that it does not handle.
process.on('SIGTERM', () => process.exit(0))
setInterval(backUp, Number(hours) * 3_600_000)
backUp()
