import type { PosternProcess } from '../postern/process.ts'
import type { World } from '../world.ts'

/** Milliseconds: SHUTDOWN_DELAY (5 s) and the limit of a stop (10 s), which one without a database needs, with a margin for both. */
const longestStop = 18_000

/** Stops a process by SIGTERM. Resolves with the seconds that it took; too many are a finding. */
export async function stop({ findings }: World, process: PosternProcess): Promise<string> {
  const ms = await process.stop()
  if (ms > longestStop) findings.push(`SIGTERM took ${Math.round(ms)} ms`)
  return `${(ms / 1000).toFixed(1)} s`
}

/**
 * Stops a process and starts one with these settings in its place.
 * @throws Error when it does not become ready, with the end of its log
 */
export async function replace(
  world: World,
  process: PosternProcess,
  settings: PosternProcess['settings'],
): Promise<void> {
  await stop(world, process)
  process.settings = settings
  await process.start()
}
