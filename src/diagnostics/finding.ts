/** One result of a check. A fault must be repaired; a warning is worth knowing. */
export interface Finding {
  state: 'ok' | 'warning' | 'fault'
  about: string
  text: string
  /** What to do. */
  advice?: string
}

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text })
export const warning = (about: string, text: string, advice?: string): Finding => ({
  state: 'warning',
  about,
  text,
  ...(advice !== undefined && { advice }),
})
export const fault = (about: string, text: string, advice?: string): Finding => ({
  state: 'fault',
  about,
  text,
  ...(advice !== undefined && { advice }),
})
