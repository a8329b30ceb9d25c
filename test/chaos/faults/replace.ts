import type { PosternProcess } from '../postern/process.ts'
import type { World } from '../world.ts'
import { longestStop } from './processes.ts'

/**
 * Ends a process in order and starts one with these settings in its place.
 * @throws Error when it does not become ready, with the end of its log
 */
export async function replace(
  { findings }: World,
  process: PosternProcess,
  settings: PosternProcess['settings'],
): Promise<void> {
  const ms = await process.stop()
  if (ms > longestStop) findings.push(`SIGTERM took ${Math.round(ms)} ms`)
  process.settings = settings
  await process.start()
}
