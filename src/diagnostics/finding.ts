/** One result of a check. A fault must be repaired; a warning is worth knowing. */
export interface Finding {
  state: 'ok' | 'warning' | 'fault'
  about: string
  text: string
  /** What to do. */
  advice?: string
}

const findingOf =
  (state: Finding['state']) =>
  (about: string, text: string, advice?: string): Finding => ({
    state,
    about,
    text,
    ...(advice !== undefined && { advice }),
  })

export const ok = findingOf('ok')
export const warning = findingOf('warning')
export const fault = findingOf('fault')

const fileErrors: Readonly<Record<string, string>> = {
  EACCES: 'permission denied: change the permissions of the file or its folder, or use another path',
  EPERM: 'permission denied: change the permissions of the file or its folder, or use another path',
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is not a folder',
  EROFS: 'it is on a read-only file system: use another path',
  ENOSPC: 'the disk is full',
}

/** Why a file cannot be used, in words; undefined for other errors than those of files. */
export const fileFault = ({ code = '' }: NodeJS.ErrnoException): string | undefined => fileErrors[code]
