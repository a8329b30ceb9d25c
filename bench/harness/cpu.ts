import { adminKey } from './postern.ts'

/** In microseconds, unless it says otherwise. */
export type Cpu = NodeJS.CpuUsage

/** What the service has taken since its start, as it tells itself. */
export async function cpuOfService(origin: string): Promise<Cpu> {
  const response = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })
  const text = await response.text()
  const read = (mode: keyof Cpu): number => {
    const seconds = new RegExp(`^postern_process_cpu_${mode}_seconds_total (\\S+)$`, 'm').exec(text)?.[1]
    if (seconds === undefined) throw new Error(`/metrics: ${response.status}, without the CPU's time`)
    return Number(seconds) * 1e6
  }
  return { user: read('user'), system: read('system') }
}
