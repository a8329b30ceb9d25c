/** One line of what `postern doctor` found. A fault is to be mended; a warning is to be known. */
export interface Finding {
  state: 'ok' | 'warning' | 'fault'
  about: string
  text: string
}

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text })
export const warning = (about: string, text: string): Finding => ({ state: 'warning', about, text })
export const fault = (about: string, text: string): Finding => ({ state: 'fault', about, text })
