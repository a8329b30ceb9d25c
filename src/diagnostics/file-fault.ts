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
